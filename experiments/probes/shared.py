"""Shared memory of one SM: bank conflicts, matrix loads, atomics on a contended word, and bytes a cycle."""

from collections.abc import Sequence

from experiments.probes.chases import UNROLL
from experiments.probes.measure import marginal_cycles, one_sm
from experiments.probes.published import die_boards, published
from experiments.probes.row import Row
from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import Expression, lane
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.kernels.shared import shared_bandwidth
from simulator.trace.schema import LANES, KernelTrace

WAYS = range(1, 33)
PORT_WAYS = (1, 2, 4, 8, 16, 32)
ROW_BYTES = 128
CYCLES = "SM cycles"
BYTES_A_CYCLE = "bytes an SM cycle"
ALL_LANES = 0xFFFFFFFF


def conflicts(gpu: Gpu, ways_of: Sequence[int] = WAYS) -> list[Row]:
    """Latency of an n-way conflict, and the port time that it takes with many warps."""
    die, sm = die_boards(gpu), one_sm(gpu)
    rows = []
    for ways in ways_of:
        address = (lane % ways) * ROW_BYTES + (lane // ways) * 4
        alone = marginal_cycles(sm, lambda n, a=address: [_chain(Operation.LDS, a, n)], UNROLL)  # type: ignore[misc]
        known = published(die, f"lat.shared_bank_conflict_{ways}way")
        name, how = f"shared load, {ways}-way conflict", "one warp, dependent"
        rows.append(Row(gpu.name, name, CYCLES, alone, known, how, "bank conflicts, latency", ways))
        if ways in PORT_WAYS:
            many = marginal_cycles(sm, lambda n, a=address: [_independent(a, n, 16)], 16) / 16  # type: ignore[misc]
            name, how = f"shared load, {ways}-way, port time", "16 warps, independent"
            rows.append(Row(gpu.name, name, CYCLES, many, None, how, "bank conflicts, port time", ways))
    return [*rows, *matrix_loads(gpu), *atomics(gpu)]


def matrix_loads(gpu: Gpu) -> list[Row]:
    """Dependent loads of two and of four 8 × 8 matrices; nothing for a card that has none."""
    if Operation.LDSM not in gpu.operations:
        return []
    sm = one_sm(gpu)
    rows = []
    for matrices in (2, 4):
        mask = (1 << 8 * matrices) - 1
        ours = marginal_cycles(sm, lambda n, m=mask: [_chain(Operation.LDSM, lane * 16, n, 16, m)], 64)  # type: ignore[misc]
        known = published(die_boards(gpu), f"lat.ldmatrix_x{matrices}")
        rows.append(Row(gpu.name, f"matrix load x{matrices}", CYCLES, ours, known, "one warp, dependent"))
    return rows


def atomics(gpu: Gpu) -> list[Row]:
    """What an atomic on one shared word takes beyond a plain load, by how many lanes want it."""
    sm = one_sm(gpu)
    load = marginal_cycles(sm, lambda n: [_chain(Operation.LDS, Expression(0), n)], 64)
    rows = []
    for lanes in (1, 2, 4, 16):
        mask = (1 << lanes) - 1
        ours = marginal_cycles(sm, lambda n, m=mask: [_chain(Operation.ATOMS, Expression(0), n, 4, m)], 64)  # type: ignore[misc]
        known = published(die_boards(gpu), f"lat.atomic_shared_{lanes}threads")
        name = f"shared atomic, {lanes} contenders"
        rows.append(Row(gpu.name, name, CYCLES, ours - load, known, "beyond a load"))
    return rows


def bandwidth(gpu: Gpu) -> list[Row]:
    """Bytes a cycle that 32 warps read from shared memory without conflicts."""
    threads, unroll = 1024, 8
    volume = threads * 4 * unroll
    ours = volume / marginal_cycles(one_sm(gpu), lambda n: shared_bandwidth(threads, 4, n, unroll), 16)
    known = published(die_boards(gpu), "bw.shared")
    return [Row(gpu.name, "shared memory read", BYTES_A_CYCLE, ours, known, "32 warps on one SM")]


def _chain(
    operation: Operation, address: Expression, loads: int, bytes_per_lane: int = 4, mask: int = ALL_LANES
) -> KernelTrace:
    """One warp whose every access takes its address from the one before."""
    k = KernelBuilder("shared_chain", 1, LANES, shared_bytes_per_block=LANES * ROW_BYTES)
    k.s2r(THREAD)
    k.alu(DATA, THREAD)
    operands = (DATA, THREAD) if operation is Operation.ATOMS else DATA
    with repeat(k, loads // UNROLL):
        for _ in range(UNROLL):
            k.emit(operation, DATA, operands, address=address, bytes_per_lane=bytes_per_lane, mask=mask)
    return k.build()


def _independent(address: Expression, loads: int, warps: int) -> KernelTrace:
    """Warps with eight loads in flight each."""
    k = KernelBuilder("shared_independent", 1, warps * LANES, shared_bytes_per_block=LANES * ROW_BYTES)
    k.s2r(THREAD)
    k.alu(DATA - 1, THREAD)
    with repeat(k, loads // 8):
        for part in range(8):
            k.load_shared(DATA + part, address, via=DATA - 1)
    return k.build()

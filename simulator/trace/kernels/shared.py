"""Kernels for shared memory: latency, bank conflicts of a chosen degree, bandwidth."""

from typing import Annotated

from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import Expression, lane, thread, warp
from simulator.trace.kernels.common import DATA, THREAD, power_of_two, repeat
from simulator.trace.kernels.registry import Blocks, Threads, Turns, Unroll, Width, kernel
from simulator.trace.schema import LANES, KernelTrace

ROW_BYTES = 128


def dependent_loads(name: str, address: Expression, shared_bytes: int, loads: int, mask: int) -> KernelTrace:
    """One warp whose every shared load takes its address from the one before."""
    unroll = next(size for size in (8, 4, 2, 1) if loads % size == 0)
    k = KernelBuilder(name, 1, LANES, shared_bytes_per_block=shared_bytes)
    k.s2r(THREAD)
    k.alu(DATA, THREAD)
    k.store_shared(THREAD, lane * 4, via=DATA)
    k.barrier()
    with repeat(k, loads // unroll):
        for _ in range(unroll):
            k.load_shared(DATA, address, via=DATA, mask=mask)
    return k.build()


@kernel
def shared_chase(loads: Turns = 512) -> list[KernelTrace]:
    """Dependent shared-memory loads of one lane: the latency without conflicts."""
    return [dependent_loads("shared_chase", Expression(0), ROW_BYTES, loads, 1)]


@kernel
def shared_conflict(ways: Annotated[int, (1, 32)] = 2, loads: Turns = 512) -> list[KernelTrace]:
    """Dependent shared-memory loads of a warp in which `ways` lanes want different words of one bank."""
    address = (lane % ways) * ROW_BYTES + (lane // ways) * 4
    return [dependent_loads("shared_conflict", address, ways * ROW_BYTES, loads, 0xFFFFFFFF)]


@kernel
def shared_bandwidth(
    threads: Threads = 1024,
    bytes_per_lane: Width = 4,
    repeats: Turns = 64,
    unroll: Unroll = 8,
    blocks: Blocks = 1,
) -> list[KernelTrace]:
    """Independent shared-memory loads without conflicts from many warps: bytes a cycle."""
    power_of_two("shared_bandwidth", bytes_per_lane)
    row = LANES * bytes_per_lane
    warps = -(-threads // LANES)
    k = KernelBuilder("shared_bandwidth", blocks, threads, shared_bytes_per_block=row * warps)
    k.s2r(THREAD)
    k.alu(4, THREAD)
    k.store_shared(DATA, thread * bytes_per_lane, bytes_per_lane, 4)
    k.barrier()
    width = bytes_per_lane // 4
    with repeat(k, repeats):
        for part in range(unroll):
            place = ((warp + part) % warps) * row + lane * bytes_per_lane
            k.load_shared(DATA + width * (part % 8), place, bytes_per_lane, 4)
    return [k.build()]

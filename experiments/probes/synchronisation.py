"""Barriers of a block, alone and with a second block on the SM, and atomics of a whole card on one word."""

from experiments.probes.measure import FAST, marginal_cycles, one_sm
from experiments.probes.published import die_boards, published
from experiments.probes.row import Row
from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.schema import LANES, KernelTrace

WARPS = (1, 2, 4, 8, 16, 32)
UNROLL = 32
CYCLES = "SM cycles"
UNROLL_ATOMICS = 4
ATOMIC_THREADS = (32, 64, 512, 1024)


def barriers(gpu: Gpu) -> list[Row]:
    """Cycles a barrier, back to back, one and two blocks on an SM."""
    die, sm = die_boards(gpu), one_sm(gpu)
    rows = []
    for blocks in (1, 2):
        for warps in WARPS:
            ours = marginal_cycles(sm, lambda n, w=warps, b=blocks: [_barriers(w, b, n)], UNROLL)  # type: ignore[misc]
            two = "_2CTA_per_SM" if blocks == 2 else ""
            known = published(die, f"lat.bar.sync_{warps}warps{two}")
            name = f"barrier, {warps} warps" + (", two blocks" if two else "")
            series = "barriers, two blocks" if blocks == 2 else "barriers"
            rows.append(Row(gpu.name, name, CYCLES, ours, known, "back to back", series, warps))
    return rows


def global_atomics(gpu: Gpu) -> list[Row]:
    """Cycles between two atomics of a warp when every warp of the card adds to one word, a lane each."""
    rows = []
    for threads in ATOMIC_THREADS:
        ours = marginal_cycles(
            gpu, lambda n, t=threads: [_atomics(gpu.sm_count, t, n)], UNROLL_ATOMICS, engine=FAST
        )  # type: ignore[misc]
        known = published(die_boards(gpu), f"lat.atomicAdd_same_address_{gpu.sm_count}blk_{threads}thr")
        name = f"atomics on one address, {threads} threads an SM"
        how = "one block an SM, one lane a warp"
        rows.append(Row(gpu.name, name, CYCLES, ours, known, how, "atomics on one address", threads))
    return rows


def _barriers(warps: int, blocks: int, count: int) -> KernelTrace:
    k = KernelBuilder("barriers", blocks, warps * LANES)
    with repeat(k, count // UNROLL):
        for _ in range(UNROLL):
            k.barrier()
    return k.build()


def _atomics(blocks: int, threads: int, count: int) -> KernelTrace:
    word = GlobalMemory().tensor("word", 4, "output")
    k = KernelBuilder("atomics", blocks, threads)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    k.move(DATA)
    with repeat(k, count // UNROLL_ATOMICS):
        for part in range(UNROLL_ATOMICS):
            # With a result that nobody needs: the warp goes on, yet the kernel's end waits for all of them.
            k.emit(
                Operation.ATOMG,
                DATA + 1 + part,
                (4, 5, DATA),
                address=k.at(word, 0),
                bytes_per_lane=4,
                mask=1,
                tensor=word,
            )
    return k.build()

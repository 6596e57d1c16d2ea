"""Replays for validation: the compiled engine, slices of a card that finish in seconds, and kernels timed on
them.

A slice cuts SMs, L2, channels and the dispatch rate together, and each kernel's grid with them: every SM then
does what it does on the whole card. That is honest for grids of equal blocks; what all blocks share (a weight
matrix, a bias) takes the same room in a smaller L2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from hwmodels import Gpu
from simulator.machine.launchable import occupancy_of
from simulator.machine.options import Preload
from simulator.machine.replay import replay
from simulator.statistics.result import Result
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import block, thread
from simulator.trace.part import first_blocks, moved
from simulator.trace.schema import KernelTrace
from simulator.trace.tally import tally

ENGINE = "compiled"
WHOLE_WARP_INSTRUCTIONS = 150_000
"""Up to so many, a whole card is quick enough."""
SLICED_WARP_INSTRUCTIONS = 600_000
"""Up to so many, a slice is replayed whole; beyond, in two shorter lengths."""
L2_TIMES = 3
"""In chains of kernels each tensor is this many times L2, if it is so in the whole."""
L2_TURNS = 1.25
"""The shorter of two lengths moves this many times L2: then the lines that a kernel before has written are
gone, and the difference of the lengths holds the kernel's own traffic only."""
LONGEST_SHARE = 0.7
FLUSH_ADDRESS = 1 << 44
FLUSH_THREADS, FLUSH_WIDTH, FLUSH_STORES = 256, 16, 4
FLUSH_TILE = FLUSH_THREADS * FLUSH_WIDTH * FLUSH_STORES
DENOMINATORS = (4, 2)
GRAPH_ROUNDS = 10
"""Rounds in a graph of flashinfer's timer."""
COLD_TIMES = 2
"""Copies of inputs that take this many times L2 are gone when they come again."""
PAGE, COPIES_AT = 2 << 20, 1 << 43
"""Bytes that copies are aligned to, and how far behind the first they lie."""


def run(
    traces: Sequence[KernelTrace],
    gpu: Gpu,
    *,
    preload: Sequence[Preload] = (),
    keep_requests: bool = False,
    interval_cycles: int = 0,
    launch: str = "stream",
) -> Result:
    """One replay."""
    return replay(
        traces,
        gpu,
        ENGINE,
        interval_cycles=interval_cycles,
        preload=preload,
        keep_requests=keep_requests,
        launch=launch,
    )


def slice_of(gpu: Gpu) -> tuple[Gpu, int]:
    """The slice that streams are measured on, and its denominator; the card itself where none is honest."""
    counts = (gpu.sm_count, gpu.l2.slices // gpu.l2.partitions, gpu.memory_partitions, gpu.dram.channels)
    for denominator in DENOMINATORS:
        if not any(count % denominator for count in counts):
            return gpu.scaled(f"1/{denominator}"), denominator
    return gpu, 1


def marginal(gpu: Gpu, make: Callable[[int], list[KernelTrace]], count: int) -> float:
    """SM cycles that one more round takes."""
    longer = run(make(2 * count), gpu).cycles
    return (longer - run(make(count), gpu).cycles) / count


def kernel_seconds(traces: Sequence[KernelTrace], gpu: Gpu, *, first_gap: bool) -> float:
    """Time of kernels in a stream. `first_gap`: with the launch gap before the first, as events around a
    call see it; else from the first block to the last, as a profiler sees it.

    L2 is full of lines that a kernel before has written, as in a loop of measurements: each new line must
    wait for a write-back. Long kernels are replayed in two lengths, whose difference is carried on to the
    whole.
    """
    work = sum(int(sum(tally(trace))) for trace in traces)
    part, denominator = (gpu, 1) if work <= WHOLE_WARP_INSTRUCTIONS else slice_of(gpu)
    share = _share(traces, part, work, denominator)
    if share >= 1:
        return _seconds(cut(traces, 1 / denominator), part, first_gap=first_gap)
    long = cut(traces, share / denominator)
    short = cut(traces, share / 2 / denominator)
    if len(traces) == 1:
        wave = occupancy_of(traces[0], part).blocks_per_sm * part.sm_count
        waves = max(2, 2 * round(long[0].blocks / wave / 2))
        long = [first_blocks(traces[0], waves * wave)]
        short = [first_blocks(traces[0], waves // 2 * wave)]
        share = waves * wave * denominator / traces[0].blocks
        if share >= 1:
            return _seconds(cut(traces, 1 / denominator), part, first_gap=first_gap)
    seconds = [_seconds(one, part, first_gap=first_gap) for one in (short, long)]
    return seconds[1] + (1 - share) / (share / 2) * (seconds[1] - seconds[0])


def graph_seconds_of(traces: Sequence[KernelTrace], gpu: Gpu) -> float:
    """Time of one round of kernels in a launched graph of many rounds, with the gaps before its kernels.

    Rounds read copies of their inputs in turn and write one output, as flashinfer's timer lays them out, so
    that inputs come from DRAM unless all copies fit into L2; the last round counts.
    """
    work = sum(int(sum(tally(trace))) for trace in traces)
    part, denominator = (gpu, 1) if work <= WHOLE_WARP_INSTRUCTIONS else slice_of(gpu)
    kernels = cut(traces, 1 / denominator)
    size = max(tensor.bytes for trace in traces for tensor in trace.tensors if tensor.kind == "input")
    copies = GRAPH_ROUNDS * size / denominator / (part.l2.size_kib * 1024)
    rounds = 1 + min(GRAPH_ROUNDS, ceil(GRAPH_ROUNDS / copies)) if copies > COLD_TIMES else GRAPH_ROUNDS + 2
    step = -(-size // PAGE) * PAGE
    made = [
        moved(trace, {"input": number % GRAPH_ROUNDS * step + (COPIES_AT if number % GRAPH_ROUNDS else 0)})
        for number in range(rounds)
        for trace in kernels
    ]
    table = run(made, part, launch="graph").kernels.iloc[-len(kernels) :]
    return float(table.cycles.sum() + table.launch_cycles.sum()) / (gpu.clock_mhz * 1e6)


def cut(traces: Sequence[KernelTrace], share: float) -> list[KernelTrace]:
    """The first blocks of each grid."""
    return [first_blocks(trace, max(1, round(trace.blocks * share))) for trace in traces]


def _share(traces: Sequence[KernelTrace], part: Gpu, work: int, denominator: int) -> float:
    """The part of each grid that is enough for the longer of two lengths; 1 for a kernel that is short."""
    if denominator == 1:
        return 1
    share = SLICED_WARP_INSTRUCTIONS * denominator / work
    l2_bytes = part.l2.size_kib * 1024 * denominator
    if len(traces) > 1:
        largest = max(tensor.bytes for trace in traces for tensor in trace.tensors)
        share = max(share, L2_TIMES * l2_bytes / largest)
    else:
        moved = sum(tensor.bytes for tensor in traces[0].tensors)
        share = max(share, 2 * L2_TURNS * l2_bytes / max(moved, 1))
    return share if share < LONGEST_SHARE else 1


def _seconds(traces: Sequence[KernelTrace], gpu: Gpu, *, first_gap: bool) -> float:
    table = run([flush(gpu), *traces], gpu).kernels.iloc[1:]
    cycles = table.cycles.sum() + table.launch_cycles.sum()
    if not first_gap:
        cycles -= table.launch_cycles.iloc[0]
    return float(cycles) / (gpu.clock_mhz * 1e6)


def flush(gpu: Gpu) -> KernelTrace:
    """A kernel that writes as much as L2 holds, far from all tensors."""
    size = gpu.l2.size_kib * 1024
    buffer = GlobalMemory(FLUSH_ADDRESS).tensor("flush", size, "output")
    k = KernelBuilder("flush", -(-size // FLUSH_TILE), FLUSH_THREADS)
    k.s2r(0)
    k.wide(4, 0)
    for part in range(FLUSH_STORES):
        place = block * FLUSH_TILE + (thread + part * FLUSH_THREADS) * FLUSH_WIDTH
        with k.guard_unless(size % FLUSH_TILE == 0, place, 0, size):
            k.store(8, k.at(buffer, place), FLUSH_WIDTH, 4, tensor=buffer)
    return k.build()

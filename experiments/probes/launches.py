"""Tiny kernels one after the other: what one more costs in a stream and in a graph, and a block's turn-round.

An empty kernel has one block of one warp that ends at once. Published figures of a stream hold whichever is
longer, the host's pace or the gap with the kernel itself; both are in the card.
"""

from experiments.probes.measure import replayed
from experiments.probes.published import Published, boards_of, published
from experiments.probes.row import Row
from hwmodels import Gpu
from simulator.trace.builder import KernelBuilder
from simulator.trace.schema import LANES, KernelTrace

KERNELS = 8
BOARD_WORDS = {
    "GV100": ("V100",),
    "GA100": ("A100",),
    "GH100": ("H100",),
}
"""Boards as the sources of launch times name them: by die."""
STREAM = ("time.launch_overhead_in_stream", "time.launch_stream")


def launches(gpu: Gpu) -> list[Row]:
    """Microseconds of one more kernel, and nanoseconds of one more block."""
    boards = BOARD_WORDS.get(gpu.die, boards_of(gpu))
    free = gpu.with_overrides({"launch.host_period_ns": 0})
    known: list[tuple[str, float, Published | None, str]] = [
        ("empty kernel in a stream", _more(free, "stream"), published(boards, STREAM), "host far ahead"),
        (
            "empty kernel, paced by the host",
            _more(gpu, "stream"),
            None,
            "the host issues one after the other",
        ),
        ("empty kernel in a graph", _more(gpu, "graph"), published(boards, "time.launch_cuda_graph"), ""),
    ]
    rows = [Row(gpu.name, name, "us", ours, theirs, how) for name, ours, theirs, how in known]
    return [*rows, turn_round(gpu)]


def turn_round(gpu: Gpu) -> Row:
    """Nanoseconds from one block to the next in the same place, for blocks that do nothing."""
    whole = gpu.with_overrides({"sm_count": 1})
    slots = min(gpu.sm.block_slots, gpu.sm.warp_slots)
    few, many = (_blocks(whole, slots * rounds) for rounds in (4, 8))
    return Row(gpu.name, "turn-round of an empty block", "ns", (many - few) / 4, None, "all places of one SM")


def _more(gpu: Gpu, launch: str) -> float:
    times = [
        replayed([_empty(1) for _ in range(count)], gpu, launch=launch).time_us
        for count in (KERNELS, 2 * KERNELS)
    ]
    return (times[1] - times[0]) / KERNELS


def _blocks(gpu: Gpu, blocks: int) -> float:
    return replayed([_empty(blocks)], gpu).time_us * 1000


def _empty(blocks: int) -> KernelTrace:
    return KernelBuilder("empty", blocks, LANES).build()

"""A pointer chase over footprints of 4 KiB to 4 GiB: the plateau of each level and the edges between them.

Up to twice L1's size the chase is the published one, shuffled and through L1, on the whole card. Beyond it
loads are `.cg`, as L1 would answer next to none. Around L2's size both are cut alike to the smallest slice of
the card and the ring is walked once before, in the same order, so that edges are LRU's and near copies are
where silicon has them; far beyond L2 no warm-up is needed. In a slice the ring is smaller than on the whole
card and misses the TLB less: up to its own latency too fast between the TLB's reach and three times L2.
"""

from fractions import Fraction

from experiments.probes.chases import POINTER_BYTES, POINTER_STRIDE, chase, shuffled_chase
from experiments.probes.latency import CYCLES, smallest_slice
from experiments.probes.measure import ENGINE, FAST, last_loads, mean_step, replayed
from experiments.probes.published import boards_of, published_points
from experiments.probes.row import Row
from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SMALLEST, LARGEST = 4 * KIB, 4 * GIB
LOADS, COUNTED = 256, 224
COLD_LOADS = 512
SERIES = "chase"
LIGHT_LINES = 8192
"""Rings that the reference engine walks in a second or two."""
LAPS = 3
"""Laps of a shuffled ring; the last one counts."""
COLD_FROM = 3
"""Multiples of L2 beyond which a cold ring shows what a warm one would."""
STEP_BYTES = 8 * KIB


def footprints(gpu: Gpu) -> list[Row]:
    """One row a footprint: those that somebody measured on this card, or a grid around its own sizes."""
    known = published_points(boards_of(gpu), r"lat\.chase_ws_([0-9]+)KiB")
    sizes = [int(size) * KIB for size in known] if known else grid(gpu)
    if known:
        sizes = sorted({*sizes, SMALLEST, LARGEST})
    rows = []
    for size in sizes:
        ours, how = chase_of(gpu, size)
        theirs = known.get(size // KIB)
        rows.append(Row(gpu.name, f"chase over {named(size)}", CYCLES, ours, theirs, how, SERIES, size))
    return rows


def grid(gpu: Gpu) -> list[int]:
    """Sizes around each edge of a card, and the ends of the range."""
    l1, near = gpu.l1.usable_kib(0) * KIB, gpu.l2.size_kib * KIB // gpu.l2.partitions
    around = [int(edge * share) for edge in (l1, near) for share in (0.5, 0.95, 1.1, 1.5)]
    if gpu.l2.partitions > 1:
        around += [near * 19 // 10, near * 5 // 2]
    wanted = [SMALLEST, *around, 3 * l1, 8 * near, 32 * near, LARGEST]
    return sorted({size // KIB * KIB for size in wanted if SMALLEST <= size <= LARGEST})


def chase_of(gpu: Gpu, size: int) -> tuple[float, str]:
    """SM cycles from one load to the next over a footprint, and how they were measured."""
    l1, l2 = gpu.l1.usable_kib(0) * KIB, gpu.l2.size_kib * KIB
    if size <= 2 * l1:
        return _step(gpu, shuffled_chase(size, LAPS), size // POINTER_STRIDE, ENGINE), "shuffled, through L1"
    if size > COLD_FROM * l2:
        stride = size // COLD_LOADS // POINTER_BYTES * POINTER_BYTES + LINE_BYTES
        trace = chase(size // stride * stride, COLD_LOADS, stride_bytes=stride)
        return _step(gpu, trace, COLD_LOADS - 32, ENGINE), f"{COLD_LOADS} cold lines"
    part = smallest_slice(gpu)
    share = Fraction(part.l2.size_kib, gpu.l2.size_kib)
    scaled = max(int(size * share) // STEP_BYTES, 1) * STEP_BYTES
    engine = FAST if scaled // LINE_BYTES > LIGHT_LINES else ENGINE
    trace = chase(scaled, LOADS, warm=True)
    return _step(part, trace, COUNTED, engine), f"warm, {named(scaled)} on {share} of the card"


def _step(gpu: Gpu, trace: object, count: int, engine: str) -> float:
    result = replayed([trace], gpu, keep_requests=True, engine=engine)  # type: ignore[list-item]
    return mean_step(last_loads(result, count))


def named(size: int) -> str:
    """A size as a person says it."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size / KIB:.4g} KiB"

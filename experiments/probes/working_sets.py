"""Read bandwidth against the working set: the cliffs where L1 and L2 end.

Every SM has a block of 1,024 threads, and all read the same buffer over and over: each from a place of its
own, or all in step, when DRAM serves one read for all SMs and no cliff shows at L2's size. Public suites have
both. What fits L1 is measured on one SM and given for all of them. A larger buffer and L2 are cut alike to a
slice of the card; a set of up to L2's size is resident before the kernel, and the rate is taken when near
copies exist.
"""

from fractions import Fraction

from experiments.probes.bandwidth import GIGA, INTERVAL_CYCLES, L2_BYTES_PER_LANE, L2_THREADS, l2_loads
from experiments.probes.footprints import named
from experiments.probes.latency import smallest_slice
from experiments.probes.measure import FAST, marginal_cycles, one_sm, replayed
from experiments.probes.published import boards_of, published_points
from experiments.probes.row import Row
from experiments.probes.steady import steady_bytes_per_second
from hwmodels import Gpu
from simulator.machine.options import Preload
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import thread
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.schema import KernelTrace

KIB, MIB = 1 << 10, 1 << 20
SPREAD, IN_STEP = "read, each SM its own place", "read, all SMs in step"
PATTERNS = {SPREAD: r"bw\.l2_ws_([0-9]+)kB", IN_STEP: r"bw\.cache_ws_([0-9]+)kB"}
TURN_BYTES = L2_THREADS * L2_BYTES_PER_LANE * 4
"""What a block reads in a turn of its loop."""
PASSES = 3
"""Walks of the buffer; with two L2 partitions more, until each has copies of what is far."""
SM_TURNS = 1200
"""Turns of all SMs together, at most: a slice of half a large card would take minutes."""
LEAST_TURNS = 6
LANE_BYTES = 4
L1_LOADS = 128
"""Loads a thread makes of what L1 holds, about."""


def working_sets(gpu: Gpu) -> list[Row]:
    """GB/s of the whole card by bytes of the buffer."""
    boards = boards_of(gpu)
    known = {series: published_points(boards, pattern) for series, pattern in PATTERNS.items()}
    rows = []
    for series, points in known.items():
        sizes = [int(size) * KIB for size in points]
        if not sizes and series == SPREAD:
            sizes = grid(gpu)
        for size in sizes:
            ours, how = bandwidth_of(gpu, size, in_step=series == IN_STEP)
            name = f"{series}, {named(size)}"
            rows.append(Row(gpu.name, name, "GB/s", ours, points.get(size // KIB), how, series, size))
    return rows


def grid(gpu: Gpu) -> list[int]:
    """Sizes on both sides of each edge."""
    l1, l2 = gpu.l1.usable_kib(0) * KIB, gpu.l2.size_kib * KIB
    return [l1 // 4, l1 * 9 // 10, 4 * l1, l2 // 5, l2 * 2 // 5, l2 * 9 // 10, l2 * 3 // 2, 4 * l2]


def bandwidth_of(gpu: Gpu, size: int, *, in_step: bool) -> tuple[float, str]:
    """GB/s of the whole card, and how they were measured."""
    if size <= gpu.l1.usable_kib(0) * KIB:
        return _inside_l1(gpu, size), "one SM, 32 warps, 4-byte elements"
    part = smallest_slice(gpu)
    share = Fraction(part.l2.size_kib, gpu.l2.size_kib)
    step = part.l2.slices * 16 * gpu.line_bytes
    scaled = max(int(size * share) // step, 1) * step
    fits = scaled <= part.l2.size_kib * KIB
    walkers = 1 if in_step else part.sm_count
    wanted = PASSES * gpu.l2.partitions * scaled // (walkers * TURN_BYTES)
    turns = min(max(wanted, LEAST_TURNS), max(SM_TURNS // part.sm_count, LEAST_TURNS))
    trace, buffer = l2_loads(part.sm_count, scaled, turns, in_step=in_step)
    preload = [Preload(buffer.base_address, buffer.bytes)] if fits else []
    result = replayed([trace], part, preload=preload, interval_cycles=INTERVAL_CYCLES, engine=FAST)
    ours = steady_bytes_per_second(result, ["l2_bytes"]) / GIGA / share
    return float(ours), f"{named(scaled)} on {share} of the card, {turns} turns"


def _inside_l1(gpu: Gpu, size: int) -> float:
    unroll = 8
    words = size // (LANE_BYTES * L2_THREADS) * L2_THREADS
    cycles = marginal_cycles(one_sm(gpu), lambda n: [_l1_passes(words, unroll, n)], L1_LOADS // unroll)
    moved = L2_THREADS * LANE_BYTES * unroll
    return moved / cycles * gpu.sm_count * gpu.clock_mhz * 1e6 / GIGA


def _l1_passes(words: int, unroll: int, turns: int) -> KernelTrace:
    """Every thread of one block walks the buffer, a block's width a load."""
    buffer = GlobalMemory().tensor("x", words * LANE_BYTES, "input")
    k = KernelBuilder("l1_passes", 1, L2_THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, turns) as turn:
        for part in range(unroll):
            place = ((turn * unroll + part) * L2_THREADS + thread) % words * LANE_BYTES
            k.load(DATA + part, k.at(buffer, place), LANE_BYTES, 4, tensor=buffer)
    return k.build()

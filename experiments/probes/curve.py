"""Bandwidth of a read stream against resident threads: how much must be in flight before DRAM is busy.

The published kernel gives each thread one 8-byte load; its occupancy is limited by idle shared memory to two
blocks an SM. What a block costs beside its slowest load decides the lower half of the curve, how evenly the
channels are loaded the upper half. Measured on a slice of the card, given for the whole.
"""

from dataclasses import dataclass

from experiments.probes.bandwidth import GIGA, KIB, MIB, slice_for_streams
from experiments.probes.measure import FAST, replayed
from experiments.probes.published import Published, measurements
from experiments.probes.row import Row
from experiments.probes.steady import steady_bytes_per_second
from hwmodels import Gpu
from simulator.trace.kernels.streams import stream
from simulator.trace.schema import LANES

BOARDS = {
    "v100-pcie-16gb": "V100 PCIe",
    "a100-sxm-40gb": "A100 SXM4 40GB",
    "a100-sxm-80gb": "A100 SXM4 80GB",
    "h100-pcie": "H100 PCIe",
    "a40": "A40",
    "l40": "L40",
    "gh200": "GH200",
}
BLOCKS_AN_SM = 2
ELEMENT_BYTES = 8
WARPS = 30_000
"""About as many as a point replays, so that a point takes some seconds."""
SHORTEST, LONGEST = 16, 100
"""Blocks that follow each other in one place."""
INTERVAL_CYCLES = 100
DEFAULT_THREADS = (32, 128, 256, 512, 1024, 1536, 2048)


@dataclass(frozen=True, slots=True)
class Point:
    """A published point: threads an SM, and its bandwidth."""

    threads: int
    known: Published | None


def curve(gpu: Gpu) -> list[Row]:
    """The published points of the card, or a few of our own choice."""
    part = slice_for_streams(gpu)
    return [row_of(gpu, part, point) for point in points_of(gpu)]


def points_of(gpu: Gpu) -> list[Point]:
    """Points that somebody measured on this card; turn-round times become bandwidth."""
    capacity = gpu.sm.warp_slots * LANES
    found: dict[int, Published] = {}
    for row in measurements():
        kind, _, percent = row.quantity.partition("_read_occ")
        if row.gpu != BOARDS.get(gpu.name) or not percent:
            continue
        threads = round(float(percent.rstrip("%")) / 100 * capacity / 16) * 16
        value = row.value
        if kind == "derived.thread_turnaround":
            value = threads * gpu.sm_count * ELEMENT_BYTES / row.value
        if kind == "bw.stream" or threads not in found:
            found[threads] = Published(value, "GB/s", row.confidence, 1)
    if not found:
        return [Point(threads, None) for threads in DEFAULT_THREADS if threads <= capacity]
    return [Point(threads, known) for threads, known in sorted(found.items())]


def row_of(gpu: Gpu, part: Gpu, point: Point) -> Row:
    """One point, GB/s of the whole card."""
    block = point.threads // BLOCKS_AN_SM
    warps = part.sm_count * BLOCKS_AN_SM * -(-block // LANES)
    waves = min(max(WARPS // warps, SHORTEST), LONGEST)
    megabytes = waves * part.sm_count * BLOCKS_AN_SM * block * ELEMENT_BYTES / MIB
    trace = stream("read", megabytes, block, idle_shared_bytes(gpu))
    result = replayed(trace, part, interval_cycles=INTERVAL_CYCLES, engine=FAST)
    share = gpu.sm_count / part.sm_count
    ours = share * steady_bytes_per_second(result, ["dram_read_bytes"]) / GIGA
    percent = 100 * point.threads / (gpu.sm.warp_slots * LANES)
    how = f"{point.threads} threads an SM, {part.scale} of the card"
    name = f"stream read at {percent:.1f} % occupancy"
    return Row(gpu.name, name, "GB/s", ours, point.known, how, "stream read", point.threads)


def idle_shared_bytes(gpu: Gpu) -> int:
    """Shared memory a block that leaves room for two blocks an SM."""
    spec = gpu.shared_memory
    half = spec.size_kib * KIB // BLOCKS_AN_SM - spec.reserved_per_block_bytes
    return min(half, spec.per_block_max_bytes) // KIB * KIB

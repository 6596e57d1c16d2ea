"""Bandwidth of write, scale and triad streams against resident threads, beside the read stream of `curve.py`.

The published kernels give a thread one 8-byte element of each array; idle shared memory limits them to two
blocks an SM. Bytes are those of the arrays, as the authors count. Measured on a slice of the card with little
L2, so that write-backs begin soon; given for the whole.
"""

from experiments.probes.bandwidth import DRAM_COLUMNS, GIGA, KIB, MIB, slice_for_streams, with_little_l2
from experiments.probes.curve import BLOCKS_AN_SM, ELEMENT_BYTES, INTERVAL_CYCLES, idle_shared_bytes
from experiments.probes.measure import FAST, replayed
from experiments.probes.published import boards_of, published_points
from experiments.probes.row import Row
from experiments.probes.steady import steady_bytes_per_second
from hwmodels import Gpu
from simulator.trace.kernels.streams import stream
from simulator.trace.schema import LANES

KINDS = {"write": "init", "scale": "scale", "triad": "triad"}
"""Our word, and the kernel's."""
DEFAULT_SHARES = (0.0625, 0.25, 0.5, 1.0)
SHARES = (0.03, 0.07, 0.13, 0.26, 0.55, 1.0)
"""Upper ends of the ranges of occupancy in which one published point is replayed."""
WAVES = 8
FILLS = 5
"""Times that a run writes all of L2, at least."""


def streams(gpu: Gpu) -> list[Row]:
    """A row a kind and occupancy."""
    part = with_little_l2(slice_for_streams(gpu))
    return [row for kind in KINDS for row in rows_of(gpu, part, kind)]


def rows_of(gpu: Gpu, part: Gpu, kind: str) -> list[Row]:
    """One kind at its occupancies."""
    capacity = gpu.sm.warp_slots * LANES
    pattern = rf"bw\.stream_{KINDS[kind]}_occ([0-9.]+)%"
    known = published_points(boards_of(gpu), pattern)
    chosen = thinned(list(known)) if len(known) > 2 else [100 * share for share in DEFAULT_SHARES]
    rows = []
    for percent in chosen:
        threads = max(round(percent / 100 * capacity / (BLOCKS_AN_SM * LANES)), 1) * BLOCKS_AN_SM * LANES
        ours = bandwidth_of(gpu, part, kind, threads)
        name = f"stream {kind} at {percent:.1f} % occupancy"
        how = f"{threads} threads an SM, {part.scale} of the card"
        rows.append(Row(gpu.name, name, "GB/s", ours, known.get(percent), how, f"stream {kind}", threads))
    return rows


def thinned(percents: list[float]) -> list[float]:
    """The highest occupancy of each range."""
    chosen = []
    for low, high in zip((0.0, *SHARES), SHARES, strict=False):
        inside = [one for one in percents if 100 * low < one <= 100 * high]
        chosen += inside[-1:]
    return chosen


def bandwidth_of(gpu: Gpu, part: Gpu, kind: str, threads: int) -> float:
    """GB/s of the whole card."""
    block = threads // BLOCKS_AN_SM
    resident_mib = part.sm_count * threads * ELEMENT_BYTES / MIB
    megabytes = max(WAVES * resident_mib, FILLS * part.l2.size_kib / KIB)
    trace = stream(KINDS[kind], round(megabytes * KIB) / KIB, block, idle_shared_bytes(gpu))
    result = replayed(trace, part, interval_cycles=INTERVAL_CYCLES, engine=FAST)
    # Writes are seen as DRAM bursts, which L2 delays but neither adds to nor takes from.
    return steady_bytes_per_second(result, DRAM_COLUMNS) / GIGA * gpu.sm_count / part.sm_count

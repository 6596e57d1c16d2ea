"""Latencies replayed as rows describe them: chases over a footprint, single accesses told apart, one
location, and the probes of what happens inside an SM.

One warp, one lane, on the whole card. A footprint of up to twice L2 is walked once before, in the order of
the chase; a larger one is cold, which to caches is the same.
"""

from __future__ import annotations

from functools import lru_cache

from experiments.probes.chases import (
    FIRST_ADDRESS,
    POINTER_STRIDE,
    chase,
    chase_lines,
    element_at,
    shared_chase,
    shuffled_chase,
)
from experiments.probes.measure import Load, last_loads, mean_latency, mean_step
from experiments.probes.registry import PROBES
from experiments.probes.row import Row
from experiments.validation.conditions import KIB, MIB
from experiments.validation.machine import marginal, run
from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES
from hwmodels.crossbar import distance_cycles
from hwmodels.slice_hash import line_from
from simulator.machine.options import Preload
from simulator.trace.schema import KernelTrace

LOADS, KEPT = 512, 448
WARM_UP_TO = 2
"""Footprints of at most so many L2s are warmed."""
SHUFFLED_UP_TO, LAPS = 4, 3
"""Footprints of at most so many L1s are shuffled as published, which decides L1's edge; the last lap
counts."""
SMALL_BYTES, HUGE_BYTES = MIB, 1024 * MIB
FAR_STRIDE, HUGE_STRIDE = 32 * KIB, 33 * KIB
PLACES = 64


def chase_cycles(gpu: Gpu, footprint_bytes: int, address_cycles: int) -> float:
    """SM cycles from one dependent load to the next."""
    size = max(footprint_bytes // LINE_BYTES, 2) * LINE_BYTES
    if size <= SHUFFLED_UP_TO * gpu.l1.size_kib * KIB and not address_cycles:
        loads = _loads(gpu, shuffled_chase(size, LAPS), count=size // POINTER_STRIDE)
        return mean_step(loads)
    warm = size <= WARM_UP_TO * gpu.l2.size_kib * KIB
    trace = chase(size, LOADS, warm=warm, cache="ca", address_cycles=address_cycles)
    return mean_step(last_loads(run([trace], gpu, keep_requests=True), KEPT))


def shared_chase_cycles(gpu: Gpu, address_cycles: int) -> float:
    """The same in shared memory."""
    return marginal(gpu, lambda rounds: [shared_chase(rounds, address_cycles)], 128)


def cluster_cycles(gpu: Gpu, which: str) -> float:
    """Mean latency of the accesses of one kind: hit or miss, in the near or the far partition."""
    if which == "hit near":
        return mean_latency(_loads(gpu, chase(SMALL_BYTES, LOADS, warm=True)))
    if which == "hit far":
        lines = [FIRST_ADDRESS + int(str(element_at(i, LOADS))) * FAR_STRIDE for i in range(LOADS)]
        homes = [Preload(address, LINE_BYTES) for address in lines]
        loads = _loads(gpu, chase(LOADS * FAR_STRIDE, LOADS, stride_bytes=FAR_STRIDE), homes)
        return mean_latency(_crossing(loads, crossed=True))
    loads = _loads(gpu, chase(HUGE_BYTES, LOADS, stride_bytes=HUGE_STRIDE))
    return mean_latency(_crossing(loads, crossed=which == "miss far"))


def one_location_cycles(gpu: Gpu, level: str) -> float:
    """The slice nearest to the SM: a line that L2 holds, or lines of one open row of DRAM."""
    lines = [_nearest_line(gpu, place) * LINE_BYTES for place in range(PLACES)]
    if level == "l2":
        lines = lines[:1] * PLACES
    return min(one.latency_cycles for one in _loads(gpu, chase_lines(lines), count=PLACES))


def probe_value(gpu: Gpu, group: str, quantity: str) -> float:
    """A number of a probe by its name."""
    for row in probe_rows(gpu, group):
        if row.quantity == quantity:
            return row.ours
    raise LookupError(f"the probe {group} has no row {quantity!r}")


@lru_cache(maxsize=64)
def probe_rows(gpu: Gpu, group: str) -> tuple[Row, ...]:
    """All rows of a probe on a card."""
    return tuple(row for part in PROBES[group].parts for row in part(gpu))


def operation_cycles(gpu: Gpu, operation: str, how: str) -> float:
    """Cycles of an instruction of one warp that waits for the one before, or of a sub-core's many."""
    return probe_value(gpu, "operations", f"{operation}, {how}")


def global_atomics_cycles(gpu: Gpu, blocks: int, threads: int) -> float:
    """Cycles between two atomics of a warp when all add to one word: every thread, one lane a warp."""
    return marginal(gpu, lambda count: [_atomics(blocks, threads, count)], 4)


def _atomics(blocks: int, threads: int, count: int) -> KernelTrace:
    from experiments.probes.synchronisation import _atomics as atomics

    return atomics(blocks, threads, count)


def _loads(
    gpu: Gpu, trace: KernelTrace, preload: list[Preload] | None = None, count: int = KEPT
) -> list[Load]:
    return last_loads(run([trace], gpu, keep_requests=True, preload=preload or ()), count)


def _crossing(loads: list[Load], *, crossed: bool) -> list[Load]:
    return [one for one in loads if ("partition_link" in one.phases) == crossed]


def _nearest_line(gpu: Gpu, place: int) -> int:
    l2, spread = gpu.l2, gpu.crossbar.spread_cycles
    numbers = range(l2.slices)
    near = min(numbers, key=lambda number: distance_cycles(0, number, gpu.sm_count, l2.slices, spread))
    first = FIRST_ADDRESS // LINE_BYTES // l2.slices
    return line_from(near, first + place, l2.slices, l2.partitions)

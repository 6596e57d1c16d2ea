"""From runs of a kernel's first blocks to the whole grid: differences between runs, and their disagreement.

Runs of more and more blocks, all with the same rest of blocks modulo one wave, have the same beginning and
last wave, so what one has over the one before belongs to whole waves in the middle. The rest of the grid
costs as much a block as the last of these. The bound is twice the disagreement of the last two rates, or all
of the one before where that is more (blocks drift apart over some 15 waves, and two rates may agree by
chance), over all blocks left out; and one wave, since blocks may end the grid in another order.
All counters are carried on by the same rule; each is rounded by itself, so sums may be off by a few units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.statistics.record import KernelRecord
from simulator.statistics.sample import PPM
from simulator.statistics.schema import INDEX

RUNS = 4
"""Runs that a bound needs: three rates."""
DRIFT_FACTOR = 2


@dataclass(frozen=True, slots=True)
class Point:
    """One run: how many blocks, and what was counted of the kernel."""

    blocks: int
    kernel: KernelRecord

    @property
    def time_fs(self) -> int:
        """From the first dispatch to the end of the last drain."""
        return self.kernel.end_fs - self.kernel.start_fs


def error_ppm(points: Sequence[Point], blocks: int, wave: int) -> int:
    """The stated bound of the extrapolated time's error, in millionths of it."""
    oldest, first, middle, last = points[-RUNS:]
    left_out = blocks - last.blocks
    drift_fs = max(
        DRIFT_FACTOR * _disagreement_fs(first, middle, last, left_out),
        _disagreement_fs(oldest, first, middle, left_out),
    )
    late, late_fs = last.blocks - middle.blocks, last.time_fs - middle.time_fs
    wave_fs = late_fs * wave // late
    total_fs = carried(middle.time_fs, last.time_fs, middle.blocks, last.blocks, blocks)
    return PPM * (drift_fs + wave_fs) // total_fs + 1


def _disagreement_fs(first: Point, middle: Point, last: Point, left_out: int) -> int:
    """How much longer or shorter the blocks left out take at one rate than at the next."""
    early, late = middle.blocks - first.blocks, last.blocks - middle.blocks
    early_fs, late_fs = middle.time_fs - first.time_fs, last.time_fs - middle.time_fs
    return abs(late_fs * early - early_fs * late) * left_out // (early * late)


def carried(before: int, after: int, few: int, many: int, blocks: int) -> int:
    """A count of `many` blocks carried on to `blocks`, at the rate between `few` and `many`."""
    return max(0, after + (after - before) * (blocks - many) // (many - few))


def whole_grid(few: Point, many: Point, blocks: int) -> KernelRecord:
    """The kernel's record carried on to all blocks; it starts at 0."""

    def row(before: list[int], after: list[int]) -> list[int]:
        return [
            carried(one, two, few.blocks, many.blocks, blocks) for one, two in zip(before, after, strict=True)
        ]

    start, end = few.kernel, many.kernel
    made = KernelRecord(end.index, end.name, end.stream)
    made.end_fs = carried(few.time_fs, many.time_fs, few.blocks, many.blocks, blocks)
    made.blocks_per_sm, made.carveout_bytes, made.limits = end.blocks_per_sm, end.carveout_bytes, end.limits
    made.counts = row(start.counts, end.counts)
    made.states = row(start.states, end.states)
    made.requests = row(start.requests, end.requests)
    made.phases = [row(one, two) for one, two in zip(start.phases, end.phases, strict=True)]
    made.operations = row(start.operations, end.operations)
    made.launch_blocked_cycles = row(start.launch_blocked_cycles, end.launch_blocked_cycles)
    made.latency_fs = [sum(phases) for phases in made.phases]
    made.counts[INDEX["resident_warp_cycles"]] = sum(made.states)
    made.counts[INDEX["warp_instructions"]] = sum(made.operations)
    made.counts[INDEX["blocks"]] = blocks
    return made

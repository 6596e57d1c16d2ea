"""How many sectors went to DRAM while each kernel ran, whichever kernel had dirtied them.

Traffic charges a write-back to the kernel that last dirtied the line, though a later kernel may drive it out.
What the bus of DRAM had to carry during a kernel is another question, answered here from the intervals: the
writes of an interval are spread evenly over the time in it in which any kernel ran, since writes follow
from the kernels' traffic. So a kernel that is short against an interval gets an estimate; one that is alone
in its run gets all. Without intervals the whole run counts as one.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.statistics.record import RunRecord
from simulator.statistics.schema import INDEX

WRITES = INDEX["dram_write_sectors"]
Span = tuple[int, int]


def sectors_written_during(record: RunRecord) -> list[float]:
    """Of each kernel, the sectors that DRAM wrote between its start and its end, by all kernels."""
    kernels = [(kernel.start_fs, kernel.end_fs) for kernel in record.kernels]
    running = _merged(kernels)
    written = [0.0] * len(kernels)
    for span, sectors in _writes(record).items():
        busy_fs = sum(_overlap(one, span) for one in running)
        if not sectors or not busy_fs:
            continue
        for place, own in enumerate(kernels):
            written[place] += sectors * _overlap(own, span) / busy_fs
    return written


def _writes(record: RunRecord) -> dict[Span, int]:
    """Sectors that DRAM wrote in each interval."""
    if not record.intervals:
        return {(0, record.end_fs): sum(kernel.counts[WRITES] for kernel in record.kernels)}
    written: dict[Span, int] = {}
    for interval in record.intervals:
        span = (interval.start_fs, interval.end_fs)
        written[span] = written.get(span, 0) + interval.counts[WRITES]
    return written


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that don't overlap, covering the same time."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))

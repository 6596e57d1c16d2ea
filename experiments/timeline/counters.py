"""Counters over time from the intervals: bandwidths, instructions, resident warps, and what they wait for.

A counter keeps its value until the next sample, so each interval is one sample at its start and everything
is zero after the last. Kernels that run side by side are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.timeline.events import Event, counter
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.result import Result

BYTES_PER_GB = 10**9
FS_PER_SECOND = 10**15


def counter_events(result: Result, device: int) -> Iterator[Event]:
    """Samples of all counters, interval by interval."""
    record = result.record
    spans: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in result.intervals.to_dict("records"):
        spans.setdefault((row["start_cycle"], row["end_cycle"]), []).append(
            {str(name): value for name, value in row.items()}
        )
    last = 0
    for (start, end), rows in sorted(spans.items()):
        if start > last:
            yield from _samples(device, last * record.sm_period_fs, [], 1, 1)
        last = end
        cycles = end - start
        seconds = cycles * record.sm_period_fs / FS_PER_SECOND
        yield from _samples(device, start * record.sm_period_fs, rows, seconds, cycles * record.sm_count)
    if spans:
        yield from _samples(device, last * record.sm_period_fs, [], 1, 1)


def _samples(
    device: int, at_fs: int, rows: Sequence[dict[str, Any]], seconds: float, sm_cycles: int
) -> Iterator[Event]:
    def total(name: str) -> float:
        return float(sum(row[name] for row in rows))

    def rate(name: str) -> float:
        return round(total(name) / seconds / BYTES_PER_GB, 3)

    dram = {"read": rate("dram_read_bytes"), "write": rate("dram_write_bytes")}
    yield counter("DRAM GB/s", device, at_fs, dram)
    yield counter("L2 GB/s", device, at_fs, {"L2": rate("l2_bytes")})
    yield counter("instructions of an SM a cycle", device, at_fs, {"ipc": round(total("ipc"), 4)})
    warps = {name: round(total(name) / sm_cycles, 3) for name in STATE_NAMES}
    yield counter("warps of an SM by state", device, at_fs, warps)

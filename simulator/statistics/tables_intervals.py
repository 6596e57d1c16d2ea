"""intervals.csv: the same counters over time, one row a kernel and interval, for plots and timelines.

Cycles count from the start of the run in SM cycles. `ipc` and the warps are averages over the SMs; the
stall columns are warp-cycles, so that a row's sum is its resident warp-cycles. An interval in which a
kernel did nothing has no row.
"""

from __future__ import annotations

from typing import Any

from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.record import IntervalRecord
from simulator.statistics.schema import INDEX
from simulator.statistics.source import SECTOR_BYTES, Source, ratio

INTERVAL_COLUMNS = (
    "gpu",
    "variant",
    "stream",
    "kernel",
    "start_cycle",
    "end_cycle",
    "ipc",
    "active_warps_per_sm",
    "dram_read_bytes",
    "dram_write_bytes",
    "l2_bytes",
    *STATE_NAMES,
)


def interval_rows(source: Source) -> list[dict[str, Any]]:
    """One row a kernel and interval, in the order of the record."""
    return [_row(source, interval) for interval in source.record.intervals]


def _row(source: Source, interval: IntervalRecord) -> dict[str, Any]:
    def count(*names: str) -> int:
        return sum(interval.counts[INDEX[name]] for name in names)

    sm_cycles = source.cycles(interval.start_fs, interval.end_fs) * source.record.sm_count
    prefix = source.prefix(interval.kernel)
    return {
        "gpu": prefix["gpu"],
        "variant": prefix["variant"],
        "stream": source.headers[interval.kernel].stream,
        "kernel": prefix["kernel"],
        "start_cycle": source.edge(interval.start_fs),
        "end_cycle": source.edge(interval.end_fs),
        "ipc": ratio(count("warp_instructions"), sm_cycles),
        "active_warps_per_sm": ratio(sum(interval.states), sm_cycles),
        "dram_read_bytes": SECTOR_BYTES * count("dram_read_sectors"),
        "dram_write_bytes": SECTOR_BYTES * count("dram_write_sectors"),
        "l2_bytes": SECTOR_BYTES * count("l2_read_sectors") + count("l2_write_bytes"),
        **dict(zip(STATE_NAMES, interval.states, strict=True)),
    }

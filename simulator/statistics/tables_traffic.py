"""traffic.csv: what went through each level of the memory, by operation, charged to the kernel that asked
for it.

A level's rows are its own counters; what must agree between levels is checked in `identities.py`. Requests
are warp requests in an SM, packets in the crossbar, line requests at L2. A cell is empty where a level has
no such notion. A write-back counts for the kernel that last dirtied the line.
"""

from __future__ import annotations

from typing import Any

from simulator.statistics.record import KernelRecord
from simulator.statistics.schema import INDEX
from simulator.statistics.source import SECTOR_BYTES, Source

TRAFFIC_COLUMNS = (
    "gpu",
    "variant",
    "kernel",
    "level",
    "operation",
    "requests",
    "sectors",
    "bytes",
    "hits",
    "misses",
    "merges",
)
LEVELS = ("shared", "l1", "crossbar", "l2", "partition_link", "dram")

_LOOKED_UP = (
    ("l1", "global_load", "l1_global_load"),
    ("l1", "local_load", "l1_local_load"),
    ("l1", "async_copy", "l1_async_copy"),
    ("l1", "global_store", "l1_global_store"),
    ("l1", "local_store", "l1_local_store"),
    ("l1", "global_atomic", "l1_global_atomic"),
    ("l1", "global_reduction", "l1_global_reduction"),
    ("l2", "read", "l2_read"),
    ("l2", "write", "l2_write"),
    ("l2", "atomic", "l2_atomic"),
    ("partition_link", "read", "link_read"),
)
"""(level, operation, prefix of the counters); the columns that a prefix has no counter for stay empty."""

_MOVED = (
    ("shared", "load", {"requests": "shared_load_requests", "bytes": "shared_load_bytes"}),
    ("shared", "store", {"requests": "shared_store_requests", "bytes": "shared_store_bytes"}),
    ("shared", "atomic", {"requests": "shared_atomic_requests"}),
    ("l1", "fill", {"sectors": "l1_fill_sectors"}),
    ("l1", "dirty_eviction", {"sectors": "l1_dirty_evictions"}),
    ("crossbar", "request", {"requests": "request_packets", "bytes": "request_bytes"}),
    ("crossbar", "reply", {"requests": "reply_packets", "bytes": "reply_bytes"}),
    ("crossbar", "acknowledgement", {"requests": "acknowledgements"}),
    ("l2", "fill", {"sectors": "l2_fill_sectors"}),
    ("l2", "writeback", {"sectors": "l2_writeback_sectors"}),
    ("l2", "dirty_left", {"sectors": "l2_dirty_left"}),
    ("partition_link", "data", {"bytes": "link_bytes"}),
    ("partition_link", "invalidation", {"requests": "link_invalidations"}),
    ("dram", "read", {"sectors": "dram_read_sectors"}),
    ("dram", "write", {"sectors": "dram_write_sectors"}),
)


def traffic_rows(source: Source) -> list[dict[str, Any]]:
    """One row a kernel, level and operation, from the SM outwards; rows of nothing but zeros are left out."""
    rows = []
    for place, kernel in enumerate(source.record.kernels):
        own = [*_looked_up(kernel), *_moved(kernel)]
        own = [row for row in own if any(row[name] for name in TRAFFIC_COLUMNS[5:])]
        own.sort(key=lambda row: LEVELS.index(row["level"]))
        rows += [{**source.prefix(place), **row} for row in own]
    return rows


def _looked_up(kernel: KernelRecord) -> list[dict[str, Any]]:
    rows = []
    for level, operation, prefix in _LOOKED_UP:
        row = _empty(level, operation)
        for column in ("requests", "sectors", "bytes", "hits", "misses", "merges"):
            if f"{prefix}_{column}" in INDEX:
                row[column] = kernel.counts[INDEX[f"{prefix}_{column}"]]
        rows.append(_with_bytes(row))
    return rows


def _moved(kernel: KernelRecord) -> list[dict[str, Any]]:
    rows = []
    for level, operation, columns in _MOVED:
        row = _empty(level, operation)
        for column, counter in columns.items():
            row[column] = kernel.counts[INDEX[counter]]
        rows.append(_with_bytes(row))
    return rows


def _empty(level: str, operation: str) -> dict[str, Any]:
    return {"level": level, "operation": operation, **dict.fromkeys(TRAFFIC_COLUMNS[5:])}


def _with_bytes(row: dict[str, Any]) -> dict[str, Any]:
    """Sectors move whole, so their bytes follow unless a counter has the exact ones."""
    if row["bytes"] is None and row["sectors"] is not None:
        row["bytes"] = SECTOR_BYTES * row["sectors"]
    return row

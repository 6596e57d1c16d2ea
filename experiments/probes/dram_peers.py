"""Our DRAM channel beside the published simulators' figures, a row a stream: shares and latencies.

Of the rows that differ only in queue depth or load one stands for all; each runs under its tool's own timing
set, refresh, map and queue (`dram_reference.py`), so cards play no part. "published" is what the tool said.
Saturated latencies only measure queues and are left out; so are those of tools that queue by bank.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from experiments.probes.dram_reference import beside, comparable_rows
from experiments.probes.published import DATA, Published
from experiments.probes.row import Row
from hwmodels import Gpu

REFERENCE = DATA / "dram_reference.csv"
REFRESH_INTERVALS = 5
CLOCKS = {"HBM2": 3900, "HBM3": 6240}
BY_BANK = ("DRAMSys 5.0", "DRAMsim3")
TURNING = ("copy", "triad", "mix", "50/50", "2R:1W")
"""Streams that turn the bus: there policies of the controllers differ, not timings."""


def dram_peers(gpu: Gpu | None = None) -> list[Row]:  # noqa: ARG001
    """All rows. The card is only there because every probe takes one."""
    rows = []
    for row in representative_rows(REFERENCE):
        rows += rows_of(figures(row))
    return rows


def representative_rows(path: Path) -> Iterator[dict[str, str]]:
    """The first row of each tool, standard, stream and kind of load."""
    seen = set()
    for row in comparable_rows(path):
        load = row["outstanding_or_rate"].split("=")[0].split(" ")[-1]
        key = (row["tool"], row["standard"], row["pattern"], load)
        if key not in seen:
            seen.add(key)
            yield row


def figures(row: dict[str, str]) -> dict[str, Any]:
    """Theirs and ours over whole refresh intervals."""
    return beside(row, REFRESH_INTERVALS * CLOCKS[row["standard"][:4]])


def rows_of(pair: dict[str, Any]) -> list[Row]:
    """The share, and the mean latency where it says something about the memory."""
    name = f"{pair['pattern']}, {pair['load']}"
    tool, how = f"{pair['tool']} {pair['standard'].split(' Gbps')[0]}", pair["channel"]
    share = Published(pair["achieved_theirs"], "of peak", "high", 1)
    rows = [Row(tool, name, "of peak", pair["achieved_ours"], share, how)]
    theirs, ours = pair["latency_theirs_ns"], pair["latency_ours_ns"]
    if theirs and ours and "saturating" not in pair["load"] and not pair["tool"].startswith(BY_BANK):
        rows.append(Row(tool, name, "ns", ours, Published(theirs, "ns", "high", 1), how))
    return rows


def summary(rows: list[Row]) -> list[dict[str, Any]]:
    """By kind of stream: how many rows, and the median and 90th percentile of the distances, in percent."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        turning = any(word in row.quantity for word in TURNING)
        kind = (
            "latency" if row.unit == "ns" else "share, reads and writes mixed" if turning else "share, pure"
        )
        kinds.setdefault(kind, []).append(abs(row.error_percent or 0.0))
    return [
        {
            "kind": kind,
            "rows": len(found),
            "median_pct": median(found),
            "p90_pct": sorted(found)[len(found) * 9 // 10],
        }
        for kind, found in sorted(kinds.items())
    ]

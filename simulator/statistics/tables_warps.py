"""stalls.csv, latency.csv and occupancy.csv: what warps waited for, where requests spent their time, what
limits residency.

Reasons stand in the order and under the names of `phases.py`; percentages are of the kernel's resident
warp-cycles. Latencies are in SM cycles, also where a part of them was spent under another clock. A class of
requests that a kernel never made has no rows.
"""

from __future__ import annotations

from typing import Any

from simulator.statistics.phases import ACCESS_CLASSES, PHASE_NAMES, STATE_NAMES
from simulator.statistics.record import LIMITERS
from simulator.statistics.source import Source, ratio

STALL_COLUMNS = ("gpu", "variant", "kernel", "reason", "warp_cycles", "pct")
LATENCY_COLUMNS = (
    "gpu",
    "variant",
    "kernel",
    "space",
    "operation",
    "phase",
    "requests",
    "cycles",
    "mean_cycles",
)
OCCUPANCY_COLUMNS = (
    "gpu",
    "variant",
    "kernel",
    "limiter",
    "blocks_per_sm",
    "binding",
    "launch_blocked_cycles",
)


def stall_rows(source: Source) -> list[dict[str, Any]]:
    """One row a kernel and warp state; they sum to its resident warp-cycles."""
    rows = []
    for place, kernel in enumerate(source.record.kernels):
        total = sum(kernel.states)
        for reason, spent in zip(STATE_NAMES, kernel.states, strict=True):
            rows.append(
                {
                    **source.prefix(place),
                    "reason": reason,
                    "warp_cycles": spent,
                    "pct": 100 * ratio(spent, total),
                }
            )
    return rows


def latency_rows(source: Source) -> list[dict[str, Any]]:
    """One row a kernel, class of requests and phase; the phases of a class sum to its latency."""
    rows = []
    period = source.record.sm_period_fs
    for place, kernel in enumerate(source.record.kernels):
        for access, (space, operation) in enumerate(ACCESS_CLASSES):
            requests = kernel.requests[access]
            if not requests:
                continue
            for phase, spent_fs in zip(PHASE_NAMES, kernel.phases[access], strict=True):
                rows.append(
                    {
                        **source.prefix(place),
                        "space": space,
                        "operation": operation,
                        "phase": phase,
                        "requests": requests,
                        "cycles": spent_fs / period,
                        "mean_cycles": spent_fs / period / requests,
                    }
                )
    return rows


def occupancy_rows(source: Source) -> list[dict[str, Any]]:
    """One row a kernel and limiter: blocks that it alone allows (empty: no limit), how long blocks waited."""
    rows = []
    for place, kernel in enumerate(source.record.kernels):
        for name, limit, blocked in zip(LIMITERS, kernel.limits, kernel.launch_blocked_cycles, strict=True):
            rows.append(
                {
                    **source.prefix(place),
                    "limiter": name,
                    "blocks_per_sm": limit or None,
                    "binding": limit == kernel.blocks_per_sm and limit > 0,
                    "launch_blocked_cycles": blocked,
                }
            )
    return rows

"""One replay as one row of sweep.csv: the columns of kernels.csv brought together over the kernels.

Counts and times are summed, sizes of a launch are the largest, and blocks an SM can hold the smallest. A
percentage of a kernel's duration is averaged by cycles; a rate of hits or a mean latency is divided anew from
the sums, so that it is that of all requests together. Cycles and time are those of the whole replay: kernels
side by side count once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.statistics.phases import GLOBAL_LOAD, LOCAL_LOAD, STATE_NAMES
from simulator.statistics.source import count, ratio
from simulator.statistics.tables_kernels import COLUMNS

if TYPE_CHECKING:
    from simulator.statistics.result import Result

LEFT_OUT = ("gpu", "variant", "stream", "kernel", "operators")
"""Columns of kernels.csv that name things; gpu and variant stand in front of the row."""
LARGEST = (
    "threads_per_block",
    "registers_per_thread",
    "spill_bytes_per_thread",
    "shared_bytes_per_block",
    "sample_error_pct",
)
SMALLEST = ("blocks_per_sm",)
ANY = ("sampled", "partial")
WHOLE = ("cycles", "launch_cycles", "time_us", "mean_access_latency_cycles")
"""Columns that the result as a whole has."""
ANEW = ("ipc", "l2_hit_pct", "l1_hit_pct", "mean_load_latency_cycles")
WORDS = ("limiters", "bound")
STALL_PREFIX = "stall_"
L1_LOADS = ("global_load", "local_load", "async_copy")


def columns() -> list[str]:
    """The columns of a row, in order."""
    own = [name for name, _, _ in COLUMNS if name not in LEFT_OUT]
    return ["kernels", *own, *(f"{STALL_PREFIX}{state}" for state in STATE_NAMES)]


def row_of(result: Result) -> dict[str, Any]:
    """The row, in plain numbers and words; None where there was nothing to divide by."""
    rows = [dict(row) for row in result.kernels.to_dict("records")]
    anew = _anew(result)
    made: dict[str, Any] = {"kernels": len(rows)}
    for name, unit, _ in COLUMNS:
        if name in LEFT_OUT:
            continue
        if name in WHOLE:
            made[name] = getattr(result, name)
        elif name in anew:
            made[name] = anew[name]
        else:
            made[name] = _together(name, unit, rows)
    for place, state in enumerate(STATE_NAMES):
        made[f"{STALL_PREFIX}{state}"] = sum(kernel.states[place] for kernel in result.record.kernels)
    return {name: _plain(value) for name, value in made.items()}


def _together(name: str, unit: str, rows: Sequence[Mapping[Any, Any]]) -> Any:
    values = [row[name] for row in rows]
    if name == "limiters":
        return ";".join(dict.fromkeys(word for value in values for word in value.split(";") if word))
    if name == "bound":
        return max(rows, key=lambda row: row["cycles"])["bound"] if rows else ""
    if name in ANY:
        return any(values)
    if name in LARGEST:
        return max(values, default=0)
    if name in SMALLEST:
        return min(values, default=0)
    if unit == "%":
        weights = [row["cycles"] for row in rows]
        return ratio(sum(value * weight for value, weight in zip(values, weights, strict=True)), sum(weights))
    return sum(values)


def _anew(result: Result) -> dict[str, float]:
    """Ratios of sums over all kernels."""
    kernels = result.record.kernels

    def total(*names: str) -> int:
        return sum(count(kernel, *names) for kernel in kernels)

    hits = total(*(f"l1_{kind}_hits" for kind in L1_LOADS))
    sectors = total(*(f"l1_{kind}_sectors" for kind in L1_LOADS))
    latency_fs = sum(kernel.latency_fs[GLOBAL_LOAD] + kernel.latency_fs[LOCAL_LOAD] for kernel in kernels)
    loads = sum(kernel.requests[GLOBAL_LOAD] + kernel.requests[LOCAL_LOAD] for kernel in kernels)
    record = result.record
    return {
        "ipc": ratio(total("warp_instructions"), result.cycles * record.sm_count),
        "l2_hit_pct": 100 * ratio(total("l2_read_hits"), total("l2_read_sectors")),
        "l1_hit_pct": 100 * ratio(hits, sectors),
        "mean_load_latency_cycles": ratio(latency_fs, loads * record.sm_period_fs),
    }


def _plain(value: Any) -> Any:
    """Without NumPy's types, and with None for not-a-number: what goes into the store comes out the same."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value

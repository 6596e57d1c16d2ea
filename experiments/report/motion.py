"""Data of the first demonstration: what moved between DRAM, L2, L1 and registers, interval by interval.

Everything is read off the counters that the engine kept for each interval; the page only adds up and
draws. Neighbouring intervals are joined where there are more than a page needs, which changes no sum.
Without intervals each kernel counts as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.plots.style import STATE_COLOURS
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.record import IntervalRecord, RunRecord
from simulator.statistics.result import Result
from simulator.statistics.schema import INDEX
from simulator.statistics.source import FS_PER_US, SECTOR_BYTES

MOST_STEPS = 400
L1_LOADS = ("l1_global_load_sectors", "l1_local_load_sectors", "l1_global_atomic_sectors")
L1_STORES = ("l1_global_store_sectors", "l1_local_store_sectors", "l1_global_reduction_sectors")
LINKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "dram_to_l2": (("dram_read_sectors",), ()),
    "l2_to_dram": (("dram_write_sectors",), ()),
    "l2_to_l1": ((), ("reply_bytes",)),
    "l1_to_l2": ((), ("request_bytes",)),
    "l1_to_registers": (L1_LOADS, ("shared_load_bytes",)),
    "registers_to_l1": (L1_STORES, ("shared_store_bytes",)),
}
"""Each link: the counters of sectors and those of bytes that make it up."""
SUMS = (
    "access_count",
    "access_fs",
    "l1_global_load_sectors",
    "l1_global_load_hits",
    "l2_read_sectors",
    "l2_read_hits",
)


@dataclass(slots=True)
class _Step:
    start_fs: int
    end_fs: int
    counts: list[int]
    states: list[int]
    kernels: set[int] = field(default_factory=set)


def motion(result: Result) -> dict[str, Any]:
    """The steps of one result as columns: times in µs, bytes of each link, warps by state."""
    record = result.record
    steps = _joined(_steps(record))
    labels = result.source.labels
    links = {
        name: [
            SECTOR_BYTES * sum(step.counts[INDEX[one]] for one in sectors)
            + sum(step.counts[INDEX[one]] for one in plain)
            for step in steps
        ]
        for name, (sectors, plain) in LINKS.items()
    }
    return {
        "gpu": result.card.name,
        "variant": result.variant,
        "end_us": result.time_us,
        "starts_us": [step.start_fs / FS_PER_US for step in steps],
        "ends_us": [step.end_fs / FS_PER_US for step in steps],
        "kernels": [sorted(step.kernels) for step in steps],
        "labels": list(labels),
        "links": links,
        "sums": {name: [step.counts[INDEX[name]] for step in steps] for name in SUMS},
        "states": [[round(warps, 3) for warps in _warps(step, record)] for step in steps],
        "state_names": list(STATE_NAMES),
        "state_colours": list(STATE_COLOURS.values()),
        "warp_slots": result.card.warp_slots,
        "sm_period_fs": record.sm_period_fs,
        "peaks": {
            "dram": result.card.dram_bytes_per_second,
            "l2": result.card.l2_bytes_per_cycle * 10**15 // result.card.l2_period_fs,
        },
        "launches": [
            {
                "kernel": labels[place],
                "operators": list(result.source.headers[place].operators),
                "start_us": kernel.start_fs / FS_PER_US,
                "end_us": kernel.end_fs / FS_PER_US,
            }
            for place, kernel in enumerate(record.kernels)
        ],
    }


def _steps(record: RunRecord) -> list[_Step]:
    """One step an interval, kernels side by side added up."""
    found: dict[tuple[int, int], _Step] = {}
    for one in record.intervals or _whole(record):
        step = found.get((one.start_fs, one.end_fs))
        if step is None:
            step = _Step(one.start_fs, one.end_fs, list(one.counts), list(one.states))
            found[one.start_fs, one.end_fs] = step
        else:
            step.counts = _added(step.counts, one.counts)
            step.states = _added(step.states, one.states)
        step.kernels.add(one.kernel)
    return [found[span] for span in sorted(found)]


def _whole(record: RunRecord) -> list[IntervalRecord]:
    return [
        IntervalRecord(place, one.start_fs, one.end_fs, one.counts, one.states)
        for place, one in enumerate(record.kernels)
        if one.end_fs > one.start_fs
    ]


def _joined(steps: Sequence[_Step]) -> list[_Step]:
    """At most MOST_STEPS steps, neighbours added up."""
    size = max(1, -(-len(steps) // MOST_STEPS))
    joined = []
    for at in range(0, len(steps), size):
        first, *others = steps[at : at + size]
        for other in others:
            first.counts = _added(first.counts, other.counts)
            first.states = _added(first.states, other.states)
            first.kernels |= other.kernels
            first.end_fs = other.end_fs
        joined.append(first)
    return joined


def _added(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [one + other for one, other in zip(left, right, strict=True)]


def _warps(step: _Step, record: RunRecord) -> list[float]:
    """Warps of an SM in each state, averaged over the step and all SMs."""
    sm_cycles = (step.end_fs - step.start_fs) / record.sm_period_fs * record.sm_count
    return [warp_cycles / sm_cycles for warp_cycles in step.states]

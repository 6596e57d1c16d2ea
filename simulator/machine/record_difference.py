"""Where two records of one replay differ, named as a person would look for it: component, quantity, values.

Everything that is counted is compared: kernels, warp states, phases, intervals, queue meters, DRAM commands,
each finished request and each piece of unfinished work. What belongs to the computer that simulates (engine,
wall clock, CPU, memory) is not. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from hwmodels.operations import Operation
from simulator.statistics.phases import ACCESS_CLASSES, PHASE_NAMES, STATE_NAMES
from simulator.statistics.record import LIMITERS, RequestRecord, RunRecord
from simulator.statistics.schema import COUNTER_NAMES, DRAM_COUNTERS

CLASS_NAMES = tuple(f"{space} {operation}" for space, operation in ACCESS_CLASSES)
NAMES = {
    "counts": COUNTER_NAMES,
    "states": STATE_NAMES,
    "requests": CLASS_NAMES,
    "latency_fs": CLASS_NAMES,
    "operations": tuple(one.name for one in Operation),
    "limits": LIMITERS,
    "launch_blocked_cycles": LIMITERS,
}
"""What the places in a record's lists mean."""
HOST = ("engine", "wall_seconds", "cpu_seconds", "peak_memory_mb")
ON_THEIR_OWN = (
    "meters",
    "in_flight",
    "sm_active_cycles",
    "dram",
    "kernels",
    "requests",
    "intervals",
    "blocks",
)
ABSENT = "-"


class Difference(NamedTuple):
    """One quantity that is not the same in both records; ABSENT stands for what only one of them has."""

    component: str
    what: str
    left: object
    right: object


def differences(left: RunRecord, right: RunRecord) -> list[Difference]:
    """All differences: those that name a component first, then sums over the machine."""
    return [
        *_records("", left.meters, right.meters),
        *_unfinished(left.in_flight, right.in_flight),
        *_numbered("SM", "active_cycles", left.sm_active_cycles, right.sm_active_cycles),
        *_listed("DRAM", "commands", [one.name for one in DRAM_COUNTERS], left.dram, right.dram),
        *_values("run", left, right, ON_THEIR_OWN + HOST),
        *_records("kernel", left.kernels, right.kernels),
        *_requests(left, right),
        *_records("block", left.blocks, right.blocks),
        *_records("interval", left.intervals, right.intervals),
    ]


def first_request(
    left: RunRecord, right: RunRecord
) -> tuple[RequestRecord | None, RequestRecord | None] | None:
    """The first pair, in the order of finishing, that is not the same; None where all are."""
    for pair in zip_longest(in_order(left.requests), in_order(right.requests)):
        if pair[0] != pair[1]:
            return pair
    return None


def in_order(requests: Sequence[RequestRecord]) -> list[RequestRecord]:
    """By finish time; of those that finish together by what they are."""
    return sorted(
        requests,
        key=lambda one: (
            one.finish_fs,
            one.issue_fs,
            one.sm,
            one.warp_slot,
            one.kernel,
            one.access_class,
            one.phases,
        ),
    )


def only_in(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Lines that the other list lacks, or has fewer times."""
    return list((Counter(lines) - Counter(others)).elements())


def _values(component: str, left: object, right: object, but: Sequence[str] = ()) -> Iterator[Difference]:
    """Field by field of two records of one class; numbers in lists by their names."""
    for field in dataclasses.fields(left):  # type: ignore[arg-type]
        if field.name in but:
            continue
        ours, theirs = getattr(left, field.name), getattr(right, field.name)
        if not isinstance(ours, list):
            if ours != theirs:
                yield Difference(component, field.name, ours, theirs)
        elif field.name == "phases":
            for kind, *pair in zip(CLASS_NAMES, ours, theirs, strict=True):
                yield from _listed(component, f"phase of {kind}", PHASE_NAMES, *pair)
        else:
            yield from _listed(component, field.name, NAMES.get(field.name, ()), ours, theirs)


def _listed(
    component: str, what: str, names: Sequence[str], left: Sequence[int], right: Sequence[int]
) -> Iterator[Difference]:
    for place, pair in enumerate(zip_longest(left, right, fillvalue=ABSENT)):
        if pair[0] != pair[1]:
            name = names[place] if place < len(names) else str(place)
            yield Difference(component, name if what == "counts" else f"{what}: {name}", *pair)


def _numbered(kind: str, what: str, left: Sequence[int], right: Sequence[int]) -> Iterator[Difference]:
    for place, pair in enumerate(zip_longest(left, right, fillvalue=ABSENT)):
        if pair[0] != pair[1]:
            yield Difference(f"{kind} {place}", what, *pair)


def _records(kind: str, left: Sequence[object], right: Sequence[object]) -> Iterator[Difference]:
    """One list of records against the other; each is named by its name, else by its number."""
    for place, (ours, theirs) in enumerate(zip_longest(left, right)):
        component = f"{kind} {place}" if kind else getattr(ours or theirs, "name", "")
        if ours is None or theirs is None:
            there = ["there" if one is not None else ABSENT for one in (ours, theirs)]
            yield Difference(component, "recorded", *there)
        else:
            yield from _values(component, ours, theirs)


def _unfinished(left: Sequence[str], right: Sequence[str]) -> Iterator[Difference]:
    pairs = zip_longest(only_in(left, right), only_in(right, left), fillvalue=ABSENT)
    for ours, theirs in pairs:
        component = (ours if ours != ABSENT else theirs).partition(":")[0]
        yield Difference(component, "unfinished", ours, theirs)


def _requests(left: RunRecord, right: RunRecord) -> Iterator[Difference]:
    pair = first_request(left, right)
    if pair is not None:
        one = pair[0] or pair[1]
        times = [ABSENT if request is None else request.finish_fs for request in pair]
        if one is not None:
            yield Difference(f"SM{one.sm}", f"request of warp slot {one.warp_slot}, finish_fs", *times)

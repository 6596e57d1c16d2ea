"""Where two records of one replay differ, named as a person would look for it: component, quantity, values.

Everything that is counted is compared: kernels, warp states, phases, intervals, queue meters, DRAM commands,
each finished request and each piece of unfinished work. What belongs to the computer that simulates (engine,
wall clock, CPU, memory) is not. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from simulator.statistics.phases import ACCESS_CLASSES, PHASE_NAMES, STATE_NAMES
from simulator.statistics.record import (
    LIMITERS,
    IntervalRecord,
    KernelRecord,
    MeterRecord,
    RequestRecord,
    RunRecord,
)
from simulator.statistics.schema import COUNTER_NAMES, DRAM_COUNTERS

CLASS_NAMES = tuple(f"{space} {operation}" for space, operation in ACCESS_CLASSES)
OF_A_KERNEL = ("name", "stream", "start_fs", "end_fs", "launch_fs", "blocks_per_sm", "carveout_bytes")
OF_A_RUN = ("gpu_name", "gpu_digest", "sm_count", "sm_period_fs", "end_fs", "partial")
OF_A_METER = ("area", "waits", "items", "left")
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
        *_meters(left.meters, right.meters),
        *_unfinished(left.in_flight, right.in_flight),
        *_named("SM", "active_cycles", left.sm_active_cycles, right.sm_active_cycles),
        *_listed("DRAM", [one.name for one in DRAM_COUNTERS], left.dram, right.dram),
        *_fields("run", OF_A_RUN, left, right),
        *_named("kernel", "expected_instructions", left.expected_instructions, right.expected_instructions),
        *_kernels(left.kernels, right.kernels),
        *_requests(left, right),
        *_intervals(left.intervals, right.intervals),
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


def _fields(component: str, names: Sequence[str], left: object, right: object) -> Iterator[Difference]:
    for name in names:
        values = getattr(left, name, ABSENT), getattr(right, name, ABSENT)
        if values[0] != values[1]:
            yield Difference(component, name, *values)


def _listed(
    component: str, names: Sequence[str], left: Sequence[int], right: Sequence[int]
) -> Iterator[Difference]:
    for place, pair in enumerate(zip_longest(left, right, fillvalue=ABSENT)):
        if pair[0] != pair[1]:
            yield Difference(component, names[place] if place < len(names) else str(place), *pair)


def _named(kind: str, what: str, left: Sequence[int], right: Sequence[int]) -> Iterator[Difference]:
    for place, pair in enumerate(zip_longest(left, right, fillvalue=ABSENT)):
        if pair[0] != pair[1]:
            yield Difference(f"{kind} {place}", what, *pair)


def _meters(left: Sequence[MeterRecord], right: Sequence[MeterRecord]) -> Iterator[Difference]:
    for ours, theirs in zip_longest(left, right):
        if ours is None or theirs is None or ours.name != theirs.name:
            names = ours.name if ours else ABSENT, theirs.name if theirs else ABSENT
            yield Difference("run", "meter", *names)
        else:
            yield from _fields(ours.name, OF_A_METER, ours, theirs)


def _unfinished(left: Sequence[str], right: Sequence[str]) -> Iterator[Difference]:
    pairs = zip_longest(only_in(left, right), only_in(right, left), fillvalue=ABSENT)
    for ours, theirs in pairs:
        component = (ours if ours != ABSENT else theirs).partition(":")[0]
        yield Difference(component, "unfinished", ours, theirs)


def _kernels(left: Sequence[KernelRecord], right: Sequence[KernelRecord]) -> Iterator[Difference]:
    for place, (ours, theirs) in enumerate(zip_longest(left, right)):
        component = f"kernel {place}"
        if ours is None or theirs is None:
            yield Difference("run", component, ours and ours.name, theirs and theirs.name)
            continue
        yield from _fields(component, OF_A_KERNEL, ours, theirs)
        yield from _listed(component, COUNTER_NAMES, ours.counts, theirs.counts)
        yield from _listed(component, [f"state {name}" for name in STATE_NAMES], ours.states, theirs.states)
        for what in ("requests", "latency_fs"):
            names = [f"{kind} {what}" for kind in CLASS_NAMES]
            yield from _listed(component, names, getattr(ours, what), getattr(theirs, what))
        for kind, *phases in zip(CLASS_NAMES, ours.phases, theirs.phases, strict=True):
            yield from _listed(component, [f"{kind} phase {name}" for name in PHASE_NAMES], *phases)
        names = [f"operation {place}" for place in range(len(ours.operations))]
        yield from _listed(component, names, ours.operations, theirs.operations)
        for what in ("limits", "launch_blocked_cycles"):
            names = [f"{what} {limiter}" for limiter in LIMITERS]
            yield from _listed(component, names, getattr(ours, what), getattr(theirs, what))


def _requests(left: RunRecord, right: RunRecord) -> Iterator[Difference]:
    pair = first_request(left, right)
    if pair is not None:
        one = pair[0] or pair[1]
        times = [ABSENT if request is None else request.finish_fs for request in pair]
        if one is not None:
            yield Difference(f"SM{one.sm}", f"request of warp slot {one.warp_slot}, finish_fs", *times)


def _intervals(left: Sequence[IntervalRecord], right: Sequence[IntervalRecord]) -> Iterator[Difference]:
    for place, (ours, theirs) in enumerate(zip_longest(left, right)):
        component = f"interval {place}"
        if ours is None or theirs is None:
            yield Difference(component, "recorded", ours is not None, theirs is not None)
            continue
        yield from _fields(component, ("kernel", "start_fs", "end_fs"), ours, theirs)
        yield from _listed(component, COUNTER_NAMES, ours.counts, theirs.counts)
        yield from _listed(component, [f"state {name}" for name in STATE_NAMES], ours.states, theirs.states)

"""Finds the first SM cycle after which two engines disagree about one replay.

Both replay the traces whole; where their records differ, replays with ever shorter intervals that stop ever
earlier close in on the first difference until one cycle is left, and what both engines hold after that cycle
is the answer. A difference in queues alone that heals for longer than the last steps look back (a request
that is late where it would have waited anyway) is passed over. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from hwmodels import Gpu
from hwmodels.errors import ResultError, unknown
from simulator.machine.options import Options
from simulator.machine.record_difference import Difference, differences, first_request, only_in
from simulator.machine.replay import ENGINES
from simulator.statistics.record import KernelRecord, RequestRecord, RunRecord
from simulator.trace.schema import KernelTrace

MOST_SNAPSHOTS, FEWEST_EDGES = 60_000, 16
"""How many snapshots of a component's counters of a kernel a replay with short intervals may take."""

LOOK_BACK = 16
"""A difference that was there before is looked for at so many stops before one that seems to be the first."""

Report = Callable[[str], None]
"""Called with a few words before each replay."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a replay ended: with a record, or with the words of a ResultError (a deadlock, say)."""

    record: RunRecord | None
    error: str = ""

    def differs_from(self, other: Ending) -> bool:
        """Whether any number or word is not the same."""
        if self.record is None or other.record is None:
            return self.error != other.error
        return bool(differences(self.record, other.record))


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference: everything before `cycle` is the same in both engines."""

    cycle: int
    time_fs: int
    differences: tuple[Difference, ...]
    """What is not the same once all ticks of that cycle are done."""
    unfinished: tuple[tuple[str, ...], tuple[str, ...]]
    """Of each engine: the pieces of unfinished work that the other does not hold just so."""
    request: tuple[RequestRecord | None, RequestRecord | None] | None
    """Over the whole replay, the first warp request that does not finish alike; None where all do."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing two engines found: `divergence` is None where they agree in everything."""

    engines: tuple[str, str]
    divergence: Divergence | None
    cycles: int
    """SM cycles that were compared."""
    warp_instructions: int
    requests: int


def compare_engines(
    traces: Sequence[KernelTrace],
    gpu: Gpu,
    engines: tuple[str, str],
    options: Options | None = None,
    report: Report | None = None,
) -> Comparison:
    """Replay traces on both engines and find where they part."""
    for name in engines:
        if name not in ENGINES:
            raise unknown("diverge", "engine", name, ENGINES)
    wanted = replace(options or Options(), keep_requests=True)

    def both(chosen: Options) -> tuple[Ending, Ending]:
        if report is not None:
            limit = chosen.max_cycles
            report("the whole replay" if limit is None else f"to SM cycle {limit:,}")
        return _end(engines[0], traces, gpu, chosen), _end(engines[1], traces, gpu, chosen)

    whole = both(wanted)
    records = [one.record for one in whole if one.record is not None]
    period = gpu.sm_period_fs
    end_fs = max((_last_fs(record) for record in records), default=0)
    compared = Comparison(
        engines,
        None,
        -(-end_fs // period),
        sum(kernel.counts[0] for record in records[:1] for kernel in record.kernels),
        sum(len(record.requests) for record in records[:1]),
    )
    if not _differ(whole):
        return compared
    limit = _first_limit(both, whole, gpu, wanted)
    ends = whole if limit is None else both(replace(wanted, max_cycles=limit))
    return replace(compared, divergence=_divergence(ends, whole, limit or compared.cycles, period))


def _end(engine: str, traces: Sequence[KernelTrace], gpu: Gpu, options: Options) -> Ending:
    try:
        return Ending(importlib.import_module(ENGINES[engine]).simulate(list(traces), gpu, options))
    except ResultError as error:
        return Ending(None, str(error))


def _last_fs(record: RunRecord) -> int:
    """When the last thing that a record knows of happened."""
    return max([record.end_fs, *(one.end_fs for one in record.intervals)])


def _first_limit(
    both: Callable[[Options], tuple[Ending, Ending]],
    whole: tuple[Ending, Ending],
    gpu: Gpu,
    options: Options,
) -> int | None:
    """The smallest `max_cycles` at which the records differ; None if only whole replays do."""
    limit = options.max_cycles
    for candidate in _hints(whole, gpu.sm_period_fs):
        if limit is not None and candidate >= limit:
            continue
        if _differ(both(replace(options, max_cycles=candidate))):
            limit = candidate
            break
    if limit is None:
        return None

    def differ_at(stop: int) -> bool:
        return stop > 0 and _differ(both(replace(options, max_cycles=stop)))

    while True:
        # Short intervals see an event that moved by a cycle even where all sums are soon equal again.
        edge = _first_edge(both, gpu, replace(options, max_cycles=limit), len(_kernels(whole)))
        if edge is not None and edge < limit and differ_at(edge):
            limit = edge
            continue
        limit = _halved(differ_at, limit)
        earlier = [stop for stop in range(limit - 2, limit - 2 - LOOK_BACK, -1) if differ_at(stop)]
        if not earlier:
            return limit
        limit = earlier[-1]


def _halved(differ_at: Callable[[int], bool], limit: int) -> int:
    """A stop that leaves a difference, and none a cycle before."""
    equal = 0
    while limit - equal > 1:
        middle = (equal + limit) // 2
        if differ_at(middle):
            limit = middle
        else:
            equal = middle
    return limit


def _first_edge(
    both: Callable[[Options], tuple[Ending, Ending]], gpu: Gpu, options: Options, kernels: int
) -> int | None:
    """The end, in SM cycles, of the first interval before the stop that is not the same."""
    components = gpu.sm_count + gpu.memory_partitions + 1
    edges = max(MOST_SNAPSHOTS // (components * max(1, kernels)), FEWEST_EDGES)
    length = -(-(options.max_cycles or 1) // edges)
    left, right = (one.record for one in both(replace(options, interval_cycles=length)))
    if left is None or right is None:
        return None
    for ours, theirs in zip_longest(left.intervals, right.intervals):
        if ours != theirs:
            start_fs = min(one.start_fs for one in (ours, theirs) if one is not None)
            return start_fs // gpu.sm_period_fs + length
    return None


def _differ(ends: tuple[Ending, Ending]) -> bool:
    return ends[0].differs_from(ends[1])


def _kernels(ends: tuple[Ending, Ending]) -> list[KernelRecord]:
    return next((end.record.kernels for end in ends if end.record is not None), [])


def _hints(whole: tuple[Ending, Ending], period_fs: int) -> list[int]:
    """Limits by which the records should differ, the nearest first."""
    left, right = whole[0].record, whole[1].record
    if left is None or right is None:
        # One has stopped with an error, at a time that its words do not give: twice as far each time.
        known = left or right
        last = 1 << 40 if known is None else _last_fs(known) // period_fs + 2
        return [size for size in (1 << power for power in range(8, 41)) if size < last] + [last]
    times = []
    pair = first_request(left, right)
    if pair is not None:
        times.append(min(one.finish_fs for one in pair if one is not None))
    for ours, theirs in zip(left.intervals, right.intervals, strict=False):
        if ours != theirs:
            times.append(min(ours.end_fs, theirs.end_fs))
            break
    times.append(max(_last_fs(left), _last_fs(right)))
    return sorted({time // period_fs + 2 for time in times})


def _divergence(
    ends: tuple[Ending, Ending], whole: tuple[Ending, Ending], limit: int, period_fs: int
) -> Divergence:
    left, right = ends[0].record, ends[1].record
    if left is None or right is None:
        words = [end.error or "goes on" for end in ends]
        found = (Difference("run", "end", words[0], words[1]),)
        return Divergence(limit - 1, (limit - 1) * period_fs, found, _only(left, right), None)
    request = None
    if whole[0].record is not None and whole[1].record is not None:
        request = first_request(whole[0].record, whole[1].record)
    return Divergence(
        limit - 1,
        (limit - 1) * period_fs,
        tuple(differences(left, right)),
        _only(left, right),
        request,
    )


def _only(left: RunRecord | None, right: RunRecord | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ours, theirs = (record.in_flight if record else [] for record in (left, right))
    return tuple(only_in(ours, theirs)), tuple(only_in(theirs, ours))

"""The last word between partitions that a simulator has priced: where two of them differ, both ways are
replayed in their place, behind the kernel that runs before and ahead of the one that runs after.

A price of a group by itself knows nothing of what its neighbours leave in L2 and in the queues of DRAM; what
two launches save may be lost by the ones around them. A piece is a least set of operators that both
partitions compute by themselves; equal pieces of a model are replayed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simulator.fusion.before import put_in, resident_tensors, writers
from simulator.fusion.groups import Group, Partition
from simulator.fusion.ladder import SAMPLED
from simulator.fusion.order import in_order
from simulator.fusion.price import Price, spacing_fs
from simulator.fusion.signature import signature, version
from simulator.machine.replay import replay

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

ROW = "row"
AROUND = 1
"""Launches before and after a piece that are replayed with it."""


def settled(planner: Planner, chosen: Partition, others: Sequence[Partition]) -> Partition:
    """The partition with every piece exchanged for another one's where that is faster in its place."""
    for other in others:
        for piece in list(pieces(chosen, other)):
            changed = exchanged(planner, chosen, other, piece)
            if changed is not None and is_faster(planner, changed, chosen):
                chosen = changed
    return chosen


def pieces(one: Partition, other: Partition) -> Iterator[frozenset[str]]:
    """The least sets of operators that both partitions compute by themselves, each in a way of its own."""
    homes: dict[str, frozenset[str]] = {}
    for group in (*one, *other):
        joined = frozenset(group.operators).union(*(homes.get(name, ()) for name in group.operators))
        homes.update(dict.fromkeys(joined, joined))
    for piece in dict.fromkeys(homes.values()):
        if part(one, piece) != part(other, piece):
            yield piece


def part(partition: Partition, piece: frozenset[str]) -> list[Group]:
    """The groups of a piece."""
    return [group for group in partition if piece.issuperset(group.operators)]


def exchanged(
    planner: Planner, chosen: Partition, other: Partition, piece: frozenset[str]
) -> Partition | None:
    """A partition with a piece as another one has it; None where that leaves no order."""
    kept = [group for group in chosen if not piece.issuperset(group.operators)]
    return in_order(planner.legality, kept + part(other, piece))


def is_faster(planner: Planner, one: Partition, other: Partition) -> bool:
    """Whether a partition takes less time where it differs from another."""
    before = ends_alike(one, other)
    after = ends_alike(one[::-1], other[::-1])
    first = max(0, before - AROUND)
    spans = [way[first : len(way) - max(0, after - AROUND)] for way in (one, other)]
    mine, theirs = (row_fs(planner, span) for span in spans)
    return mine < theirs


def ends_alike(one: Partition, other: Partition) -> int:
    """How many groups both begin with."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def row_fs(planner: Planner, groups: Sequence[Group]) -> int:
    """Femtoseconds of some launches in a row with their gaps, what the graph wrote before them in L2."""
    inside = {name for group in groups for name in group.operators}
    resident = frozenset().union(*(planner.resident(group) for group in groups))
    written = {
        planner.maker.place(name).name
        for operator in inside
        for name in planner.legality.operators[operator].outputs
        if name
    }
    resident -= written
    whole = Group(tuple(sorted(inside)), ROW, tuple(groups))
    facts = (version(), planner.gpu.digest(), planner.rung, planner.cap, planner.launch, planner.means)
    forms = [group.form for group in groups]
    key = signature(planner.graph, whole, planner.maker, resident, *facts, *forms)
    known = planner.store.get(key)
    if known is None:
        known = Price(planner.rung, replayed_row(planner, groups, resident), ())
        planner.store.put(key, known)
    return known.total_fs


def replayed_row(planner: Planner, groups: Sequence[Group], resident: frozenset[str]) -> int:
    """The replay of a row."""
    traces = [one.trace for group in groups for one in planner.kernels(group)]
    if not traces:
        return 0
    there = resident_tensors(traces, resident)
    before = writers(there)
    result = replay(
        [*before, *traces],
        planner.gpu,
        planner.means.engine,
        launch=planner.launch,
        interval_cycles=0,
        preload=put_in(there),
        sample=planner.means.sample if planner.rung == SAMPLED else None,
    )
    kernels = result.record.kernels[len(before) :]
    return sum(spacing_fs(one.end_fs - one.start_fs, planner.gpu, planner.launch) for one in kernels)

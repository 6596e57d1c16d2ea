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
from simulator.fusion.side_by_side import side_by_side
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
        if set(part(one, piece)) != set(part(other, piece)):
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
    mine, theirs = rows_fs(planner, spans)
    return mine < theirs


def ends_alike(one: Partition, other: Partition) -> int:
    """How many groups both begin with."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def rows_fs(planner: Planner, rows: Sequence[Partition]) -> list[int]:
    """Femtoseconds of some launches in a row with their gaps, for each row; what is not known yet is replayed
    side by side.
    """
    keys = [key_of(planner, row) for row in rows]
    missing = {key: row for key, row in zip(keys, rows, strict=True) if planner.store.get(key) is None}
    found = side_by_side(lambda row: replayed_row(planner, row), list(missing.values()))
    for key, spent in zip(missing, found, strict=True):
        planner.store.put(key, Price(planner.rung, spent, ()))
    known = [planner.store.get(key) for key in keys]
    return [price.total_fs for price in known if price is not None]


def key_of(planner: Planner, row: Partition) -> str:
    """The signature under which a row's time is kept."""
    whole = Group(tuple(name for group in row for name in group.operators), ROW, row)
    facts = (version(), planner.gpu.digest(), planner.rung, planner.cap, planner.launch, planner.means)
    forms = [group.form for group in row]
    return signature(planner.graph, whole, planner.maker, resident_in(planner, row), *facts, *forms)


def resident_in(planner: Planner, row: Partition) -> frozenset[str]:
    """Operands that are in L2 before a row, by the names of their places."""
    found: set[str] = set()
    written: set[str] = set()
    for group in row:
        found |= planner.resident(group)
        for name in group.operators:
            values = planner.legality.operators[name].outputs
            written |= {planner.maker.place(value).name for value in values if value}
    return frozenset(found - written)


def replayed_row(planner: Planner, row: Partition) -> int:
    """The replay of a row."""
    traces = [one.trace for group in row for one in planner.kernels(group)]
    if not traces:
        return 0
    there = resident_tensors(traces, resident_in(planner, row))
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

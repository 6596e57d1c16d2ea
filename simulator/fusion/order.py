"""Partitions by name: what their groups store and need, a launch order, and whether they are sound."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.fusion.groups import Group, Partition
from simulator.fusion.legality import Legality
from simulator.fusion.problem import Candidate, Problem, bits, is_sound, needs_of


def stores_of(legality: Legality, group: Group) -> int:
    """The operators of a group whose values it stores."""
    found = 0
    for leaf in group.leaves():
        if leaf.writes is None:
            members = [legality.operators[name] for name in leaf.operators]
            leaving = legality.leaving(members)
        else:
            leaving = set(leaf.writes)
        for name in leaf.operators:
            operator = legality.operators[name]
            views = not any(operator.outputs)
            if views or any(output in leaving for output in operator.outputs):
                found |= 1 << legality.number[name]
    return found


def producers_of(legality: Legality) -> tuple[int, ...]:
    """For each operator those whose values it reads."""
    found = [0] * len(legality.readers)
    for writer, readers in enumerate(legality.readers):
        for reader in bits(readers):
            found[reader] |= 1 << writer
    return tuple(found)


def in_order(legality: Legality, groups: Sequence[Group]) -> Partition | None:
    """The groups in launch order, as near to the graph's as their needs allow; None where some would wait for
    ever.
    """
    producers = producers_of(legality)
    nothing = [0] * len(producers)
    masks = {group: legality.mask(dict.fromkeys(group.operators)) for group in groups}
    left = sorted(groups, key=lambda group: (masks[group].bit_length(), masks[group]))
    needs = {
        group: part_needs(legality, group, producers) if group.parts else needs_of(
            producers, nothing, masks[group]
        )
        for group in left
    }  # fmt: skip
    stores = {group: stores_of(legality, group) for group in left}
    order: list[Group] = []
    stored = 0
    while left:
        ready = next((group for group in left if not needs[group] & ~stored), None)
        if ready is None:
            return None
        left.remove(ready)
        order.append(ready)
        stored |= stores[ready]
    return tuple(order)


def part_needs(legality: Legality, group: Group, producers: Sequence[int]) -> int:
    """What the parts of a horizontal group must find stored, other parts' values too: these make it wait for
    itself.
    """
    nothing = [0] * len(producers)
    found = 0
    for leaf in group.leaves():
        found |= needs_of(producers, nothing, legality.mask(leaf.operators))
    return found


def sound(legality: Legality, partition: Sequence[Group]) -> bool:
    """Whether a partition computes every operator, stores what is asked for, and can be launched. Operators
    may stand in several groups where one of them leaves the value unstored.
    """
    count = len(legality.readers)
    leaves = 0
    for at, operator in enumerate(legality.graph.operators):
        asked = any(legality.graph.tensors[name].kind == "output" for name in operator.outputs if name)
        if asked or not legality.readers[at]:
            leaves |= 1 << at
    seen = copied = 0
    for group in partition:
        members = legality.mask(dict.fromkeys(group.operators))
        copied |= seen & members
        seen |= members
    chosen = [
        Candidate(legality.mask(leaf.operators), stores_of(legality, leaf), 0)
        for group in partition
        for leaf in group.leaves()
    ]
    problem = Problem(legality.readers, (0,) * count, leaves, copied, tuple(chosen))
    return is_sound(problem, chosen) and in_order(legality, partition) is not None

"""The choice of groups as arithmetic on bits: operators are numbers in topological order, a candidate is a
set of them with what it stores and what it costs.

A choice is sound when every operator is computed once (those that may be copied: at least as often as
needed), every value that leaves is stored, and the candidates can be launched one after another, each with
its operands there. Nothing here knows what an operator does; costs are whole numbers of any unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """Operators that one group computes (`members`), those of them whose values it stores, and its cost."""

    members: int
    stores: int
    cost: int


@dataclass(frozen=True, slots=True)
class Problem:
    """`readers[u]` are the operators that read u's value; `waits[v]` those that must be stored before v
    although v does not read them (somebody outside stands between); `leaves` have their value asked for from
    outside; `copied` may be computed by several groups.
    """

    readers: tuple[int, ...]
    waits: tuple[int, ...]
    leaves: int
    copied: int
    candidates: tuple[Candidate, ...]

    @property
    def count(self) -> int:
        """Operators."""
        return len(self.readers)

    @property
    def producers(self) -> tuple[int, ...]:
        """For each operator those whose values it reads."""
        found = [0] * self.count
        for writer, readers in enumerate(self.readers):
            for reader in bits(readers):
                found[reader] |= 1 << writer
        return tuple(found)


def bits(mask: int) -> Iterator[int]:
    """The numbers in a set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def needed_stores(problem: Problem, members: int) -> int:
    """Which values of a group somebody outside reads."""
    found = problem.leaves & members
    for operator in bits(members):
        if problem.readers[operator] & ~members:
            found |= 1 << operator
    return found


def needs_of(producers: Sequence[int], waits: Sequence[int], members: int) -> int:
    """Values that a group must find stored when it starts."""
    found = 0
    for operator in bits(members):
        found |= producers[operator] | waits[operator]
    return found & ~members


def launch_order(
    chosen: Sequence[tuple[int, int]], producers: Sequence[int], waits: Sequence[int], there: int = 0
) -> list[int] | None:
    """An order in which (members, stores) can be launched, or None where some would wait for ever. Values
    `there` are stored from the start.
    """
    needs = [needs_of(producers, waits, members) for members, _ in chosen]
    order: list[int] = []
    stored = there
    left = list(range(len(chosen)))
    while left:
        waiting = []
        for at in left:
            if needs[at] & ~stored:
                waiting.append(at)
            else:
                order.append(at)
                stored |= chosen[at][1]
        if len(waiting) == len(left):
            return None
        left = waiting
    return order


def is_sound(problem: Problem, chosen: Iterable[Candidate]) -> bool:
    """Whether a choice computes everything, in some order; the meaning of a partition, used by tests too."""
    picked = list(chosen)
    computed = stored = 0
    for one in picked:
        if one.members & computed & ~problem.copied:
            return False
        computed |= one.members
        stored |= one.stores
    everything = (1 << problem.count) - 1
    if everything & ~computed & ~problem.copied or problem.leaves & ~stored:
        return False
    pairs = [(one.members, one.stores) for one in picked]
    return launch_order(pairs, problem.producers, problem.waits) is not None


def reach_of(readers: Sequence[int]) -> tuple[int, ...]:
    """For each operator all that depend on it, itself left out."""
    reach = [0] * len(readers)
    for operator in range(len(readers) - 1, -1, -1):
        for reader in bits(readers[operator]):
            reach[operator] |= 1 << reader | reach[reader]
    return tuple(reach)


def is_convex(members: int, reach: Sequence[int]) -> bool:
    """Whether no path leaves the set and comes back: the group would wait for itself."""
    after = 0
    for operator in bits(members):
        after |= reach[operator]
    return all(not reach[outside] & members for outside in bits(after & ~members))

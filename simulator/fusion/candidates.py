"""Every group that a planner may choose from: the legal, connected, convex sets of operators, part by part of
the graph, and for values with several readers the same set without storing them.

Operators are in one part when some legal pair links them; parts only meet through memory. A part with more
sets than `MOST_SETS` is cut short and says so: its bound then holds for what was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.fusion.groups import Group
from simulator.fusion.legality import BROADCAST, ELEMENTS, FINAL, REPEATABLE, Legality
from simulator.fusion.problem import bits, is_convex

MOST_SETS = 4000
MOST_COPIED = 3
"""Values of one group that may be left unstored, each both ways."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One group that may be chosen; `members` and `stores` are bits over the whole graph's operators."""

    group: Group
    members: int
    stores: int


@dataclass(frozen=True, slots=True)
class Part:
    """Operators that may share kernels with one another, and all groups of them. `complete`: none was left
    out.
    """

    operators: int
    choices: tuple[Choice, ...]
    copied: int
    complete: bool


def parts_of(legality: Legality, most_sets: int = MOST_SETS) -> list[Part]:
    """The parts of a graph in the order of their first operators."""
    count = len(legality.graph.operators)
    linked = links_of(legality)
    left = (1 << count) - 1
    found = []
    while left:
        part = grown(left & -left, linked)
        left &= ~part
        found.append(part_of(legality, part, linked, most_sets))
    return found


def links_of(legality: Legality) -> list[int]:
    """For each operator those that it could share a kernel with as a neighbour."""
    names = [operator.name for operator in legality.graph.operators]
    alone = [legality.refused_kind(operator) is not None for operator in legality.graph.operators]
    linked = [0] * len(names)
    for writer, readers in enumerate(legality.readers):
        for reader in bits(readers):
            if alone[writer] or alone[reader]:
                continue
            found = legality.refusal((names[writer], names[reader]))
            if found is None or found.rule not in FINAL:
                linked[writer] |= 1 << reader
                linked[reader] |= 1 << writer
    return linked


def grown(seed: int, linked: list[int]) -> int:
    """Everything that hangs together with some operators."""
    part = edge = seed
    while edge:
        around = 0
        for at in bits(edge):
            around |= linked[at]
        edge = around & ~part
        part |= edge
    return part


def part_of(legality: Legality, part: int, linked: list[int], most_sets: int) -> Part:
    """One part with its choices: single operators first."""
    names = [operator.name for operator in legality.graph.operators]
    copied = copied_of(legality, part)
    choices: list[Choice] = []
    looked = 0
    complete = True
    for members in connected_sets(legality, part, linked):
        looked += 1
        if looked > most_sets and members & members - 1:
            complete = False
            continue
        group_names = tuple(names[at] for at in bits(members))
        if legality.refusal(group_names) is None:
            choices += with_copies(legality, members, group_names, 0)
        if members & copied and members & members - 1:
            choices += with_copies(legality, members, group_names, copied)
    return Part(part, tuple(choices), copied if len(choices) > 1 else 0, complete)


def connected_sets(legality: Legality, part: int, linked: list[int]) -> Iterator[int]:
    """The connected sets of a part, each once: single ones, then larger ones as they grow."""
    names = [operator.name for operator in legality.graph.operators]
    for at in bits(part):
        yield 1 << at
    layer = {1 << at for at in bits(part)}
    while layer:
        following = set()
        for members in layer:
            around = 0
            for at in bits(members):
                around |= linked[at]
            for at in bits(around & ~members):
                following.add(members | 1 << at)
        layer = set()
        for members in sorted(following):
            refusal = legality.refusal([names[at] for at in bits(members)])
            if refusal is None or refusal.rule not in FINAL:
                layer.add(members)
                yield members
            if len(layer) > MOST_SETS:
                return


def copied_of(legality: Legality, part: int) -> int:
    """Operators that may be computed by several groups: cheap by element, with several readers, in this part
    alone.
    """
    found = 0
    for at in bits(part):
        operator = legality.graph.operators[at]
        value = next(name for name in operator.outputs if name)
        if (
            legality.kinds[operator.name] in {ELEMENTS, BROADCAST}
            and operator.kind in REPEATABLE
            and legality.readers[at].bit_count() > 1
            and legality.readers[at] & part
            and legality.graph.tensors[value].kind != "output"
        ):
            found |= 1 << at
    return found


def with_copies(legality: Legality, members: int, names: tuple[str, ...], copied: int) -> Iterator[Choice]:
    """The group as it is (`copied` 0), or with one or more of its values that others read left unstored."""
    stores = 0
    for at in bits(members):
        if legality.readers[at] & ~members or not legality.readers[at] or is_output(legality, at):
            stores |= 1 << at
    if not copied:
        yield Choice(Group(names), members, stores)
        return
    droppable = [
        at for at in bits(stores & copied) if legality.readers[at] & members and not is_output(legality, at)
    ][:MOST_COPIED]
    for number in range(1, 1 << len(droppable)):
        kept = stores & ~sum(1 << at for place, at in enumerate(droppable) if number >> place & 1)
        if not kept or not is_convex(members, legality.reach):
            continue
        writes = tuple(name for at in bits(kept) for name in legality.graph.operators[at].outputs if name)
        if legality.refusal(names, writes) is None:
            yield Choice(Group(names, writes=writes), members, kept)


def is_output(legality: Legality, at: int) -> bool:
    """Whether a value of an operator leaves the graph."""
    operator = legality.graph.operators[at]
    return any(legality.graph.tensors[name].kind == "output" for name in operator.outputs if name)

"""Horizontal fusion: groups of one level, which need nothing of each other, joined into one launch where the
planner's prices say that it saves time.

Greedy: the cheapest groups first, since a launch gap weighs most beside them; each joins the launch with
which it saves most, as one region of siblings, by blocks or by warps. Levels are lengths of longest paths,
so joined groups never wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from simulator.fusion.belief import believed_together
from simulator.fusion.groups import BLOCK_SPLIT, THREAD_SPLIT, VERTICAL, Group, Partition, horizontal
from simulator.fusion.ladder import ANALYTIC
from simulator.fusion.order import in_order, stores_of
from simulator.fusion.planner import Planner
from simulator.fusion.siblings import joined_siblings

MOST_PARTS = 8
MOST_TRIALS = 6
"""Launches of its level that a group is tried with."""
FORMS = (BLOCK_SPLIT, THREAD_SPLIT)


def levels_of(planner: Planner, partition: Sequence[Group]) -> dict[Group, int]:
    """The number of launches that must come before each group at least."""
    legality = planner.legality
    level_of: dict[int, int] = {}
    found: dict[Group, int] = {}
    for group in partition:
        inside = set(group.operators)
        before = [
            level_of[legality.number[legality.producers[name].name]] + 1
            for operator in inside
            for name in legality.operators[operator].inputs
            if name in legality.producers and legality.producers[name].name not in inside
        ]
        found[group] = max(before, default=0)
        stored = stores_of(legality, group)
        for operator in inside:
            number = legality.number[operator]
            if stored >> number & 1 or number not in level_of:
                level_of[number] = found[group]
    return found


def merged(planner: Planner, partition: Partition) -> Partition:
    """The partition with groups of one level joined as long as that saves time."""
    levels = levels_of(planner, partition)
    kept: list[Group] = []
    ranked = sorted(partition, key=lambda group: levels[group])
    for _, members in groupby(ranked, key=lambda group: levels[group]):
        kept += merged_level(planner, list(members))
    return in_order(planner.legality, kept) or partition


def merged_level(planner: Planner, groups: list[Group]) -> list[Group]:
    """One level with what can be joined joined."""
    fit = [group for group in groups if is_plain(planner, group)]
    launches: list[Group] = []
    for group in sorted(fit, key=lambda one: (planner.price(one).total_fs, one.operators)):
        best, place, saved = group, -1, 0
        for at in range(len(launches))[-MOST_TRIALS:]:
            ways = [join(form, launches[at], group) for form in FORMS]
            for joined in (joined_siblings(planner, launches[at], group), *ways):
                if joined is None:
                    continue
                apart = planner.price(launches[at]).total_fs + planner.price(group).total_fs
                if planner.simulates and not may_pay(planner, joined, (launches[at], group), apart - saved):
                    continue
                price = planner.price(joined)
                if price.refusal is None and apart - price.total_fs > saved:
                    best, place, saved = joined, at, apart - price.total_fs
        if place < 0:
            launches.append(group)
        else:
            launches[place] = best
    return launches + [group for group in groups if group not in fit]


def may_pay(planner: Planner, joined: Group, parts: Sequence[Group], most_fs: int) -> bool:
    """Whether a launch is worth a dear price: it can be built, and may cost less than it has to."""
    if planner.price(joined, ANALYTIC).refusal is not None:
        return False
    return believed_together(planner, joined, parts) < most_fs


def join(form: str, launch: Group, group: Group) -> Group | None:
    """One more part in a launch; None where the launch has another form, or enough."""
    if launch.form not in {VERTICAL, form} or group.form != VERTICAL:
        return None
    parts = launch.parts or (launch,)
    if len(parts) >= MOST_PARTS:
        return None
    return horizontal(form, (*parts, group))


def is_plain(planner: Planner, group: Group) -> bool:
    """Whether a group is one launch with a kernel program."""
    if planner.price(group).refusal is not None:
        return False
    kernels = planner.kernels(group)
    return len(kernels) == 1 and not kernels[0].opaque


def grown(planner: Planner, partition: Partition) -> Partition:
    """Horizontal groups with parts grown by operators that only they feed, as long as that saves time; the
    operators are taken from groups that hold nothing else.
    """
    groups = list(partition)
    for at in range(len(groups)):
        if at < len(groups) and groups[at].form != VERTICAL:
            groups = grown_launch(planner, groups, groups[at])
    return in_order(planner.legality, groups) or partition


def grown_launch(planner: Planner, groups: list[Group], launch: Group) -> list[Group]:
    """One launch grown as far as it pays."""
    while True:
        step = next_step(planner, groups, launch) or absorbed(planner, groups, launch)
        if step is None:
            return groups
        larger, taken = step
        groups = [larger if group is launch else group for group in groups if group not in taken]
        launch = larger


def absorbed(planner: Planner, groups: list[Group], launch: Group) -> tuple[Group, list[Group]] | None:
    """The launch with another one of its form grown into it, each part of that behind a part of this; None
    where there is none or it saves nothing.
    """
    legality = planner.legality
    for other in groups:
        if other is launch or other.form != launch.form:
            continue
        parts = list(launch.parts)
        free = set(range(len(parts)))
        for behind in other.parts:
            at = next(
                (
                    at
                    for at in sorted(free)
                    if legality.refusal((*parts[at].operators, *behind.operators)) is None
                ),
                None,
            )
            if at is None:
                break
            free.discard(at)
            names = sorted((*parts[at].operators, *behind.operators), key=legality.number.__getitem__)
            parts[at] = Group(tuple(names))
        else:
            larger = horizontal(launch.form, parts)
            if pays(planner, groups, larger, [launch, other]):
                return larger, [other]
    return None


def pays(planner: Planner, groups: list[Group], larger: Group, gone: list[Group]) -> bool:
    """Whether one launch costs less than those it stands for, and leaves an order."""
    price = planner.price(larger)
    if price.refusal is not None or price.total_fs >= sum(planner.price(one).total_fs for one in gone):
        return False
    return in_order(planner.legality, [larger, *(one for one in groups if one not in gone)]) is not None


def next_step(planner: Planner, groups: list[Group], launch: Group) -> tuple[Group, list[Group]] | None:
    """The launch with every part that can take one operator more grown by it, and the groups that go; None
    where that saves nothing.
    """
    legality = planner.legality
    alone = {group.operators[0]: group for group in groups if len(group.operators) == 1}
    parts, taken = [], []
    for part in launch.parts:
        readers = 0
        for name in part.operators:
            readers |= legality.readers[legality.number[name]]
        grown_part = part
        for number in range(readers.bit_length()):
            name = legality.graph.operators[number].name
            if not readers >> number & 1 or name not in alone or alone[name] in taken:
                continue
            if legality.refusal((*part.operators, name)) is None:
                ordered = sorted((*part.operators, name), key=legality.number.__getitem__)
                grown_part = Group(tuple(ordered))
                taken.append(alone[name])
                break
        parts.append(grown_part)
    if not taken:
        return None
    larger = horizontal(launch.form, parts)
    return (larger, taken) if pays(planner, groups, larger, [launch, *taken]) else None

"""What a group is believed to cost before it is replayed: its analytic price, corrected by what the simulator
said of groups that do the same work at their heart.

A contraction, a window or a row operator fills most of a kernel's time, and its main loop is the same program
whatever is fused behind it; so the analytic price of its kernels is off by much the same factor (within a few
per cent on the layers of ResNet-50). Once one of them has been replayed, the others are believed to cost at
least nine tenths of what that factor makes of them. Until then, and for groups without such an operator, six
tenths of the analytic price are believed. A group that does more than one that was replayed and less than
another, with the same heart, is believed to lie between the two. Launch gaps are exact, and nothing is
believed to be below the byte bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.fusion.groups import Group
from simulator.fusion.ladder import ANALYTIC, BYTES
from simulator.fusion.legality import BROADCAST, ELEMENTS
from simulator.fusion.price import Price, spacing_fs

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

UNSEEN_PPM = 600_000
"""Of its analytic time a kernel is believed to take so much while none with its heart has been replayed."""
SEEN_PPM = 900_000
"""The same of the corrected time, once one has."""
PPM = 1_000_000

Heart = tuple[object, ...]


@dataclass(slots=True)
class Belief:
    """Beliefs about the groups of one planner; `learn` is told every replayed price."""

    planner: Planner
    factors: dict[Heart, int] = field(default_factory=dict)
    """Replayed over analytic time, in millionths; the least of each heart."""
    replayed: dict[Heart, dict[frozenset[str], int]] = field(default_factory=dict)
    """Femtoseconds in kernels, by operators, of the groups of each heart."""
    known: dict[Group, tuple[Heart, Price, int]] = field(default_factory=dict)

    def facts(self, group: Group) -> tuple[Heart, Price, int]:
        """A group's heart, its analytic price and its byte bound."""
        found = self.known.get(group)
        if found is None:
            planner = self.planner
            price = planner.price(group, ANALYTIC)
            least = 0 if price.refusal is not None else planner.price(group, BYTES).total_fs
            found = self.known[group] = (self.heart(group), price, least)
        return found

    def heart(self, group: Group) -> Heart:
        """What decides how long the group's main loop takes: its operators that are not element-wise, with
        attributes, shapes and types; empty where there is none.
        """
        legality, tensors = self.planner.legality, self.planner.graph.tensors
        found: list[object] = [] if not group.parts else [group.form]
        for name in dict.fromkeys(group.operators):
            operator = legality.operators[name]
            if legality.kinds[name] in {ELEMENTS, BROADCAST}:
                continue
            values = [tensors[one] for one in (*operator.inputs, *operator.outputs) if one]
            shapes = tuple((value.shape, value.dtype) for value in values)
            found.append((operator.kind, str(operator.attributes), shapes))
        return tuple(found)

    def cost(self, group: Group) -> int:
        """The believed cost with launches, in femtoseconds. Only for groups that can be built."""
        heart, price, least = self.facts(group)
        factor = self.factors.get(heart)
        share = UNSEEN_PPM if factor is None else SEEN_PPM * factor // PPM
        times = [one.time_fs * share // PPM for one in price.kernels]
        if len(times) == 1:
            times[0] = max(times[0], self.between(group, heart))
        return max(least, sum(spacing_fs(one, self.planner.gpu, self.planner.launch) for one in times))

    def between(self, group: Group, heart: Heart) -> int:
        """The least time in its kernel that groups inside it and around it leave it; 0 where there are not
        both.
        """
        mine = frozenset(group.operators)
        others = self.replayed.get(heart, {})
        less = [time for names, time in others.items() if names < mine]
        more = [time for names, time in others.items() if names > mine]
        return min(max(less), *more) if less and more else 0

    def learn(self, group: Group, replayed: Price) -> None:
        """What the simulator says of a group."""
        heart, price, _ = self.facts(group)
        if not heart or not price.kernel_fs or replayed.refusal is not None:
            return
        factor = PPM * replayed.kernel_fs // price.kernel_fs
        self.factors[heart] = min(factor, self.factors.get(heart, factor))
        if group.writes is None:
            self.replayed.setdefault(heart, {})[frozenset(group.operators)] = replayed.kernel_fs


def believed_together(planner: Planner, joined: Group, parts: Sequence[Group]) -> int:
    """What a launch is believed to cost at least whose parts have been priced, in femtoseconds: its analytic
    price, with the error that the analytic prices of its parts have.
    """
    replayed = sum(planner.price(part).kernel_fs for part in parts)
    guessed = sum(planner.price(part, ANALYTIC).kernel_fs for part in parts)
    share = SEEN_PPM * replayed // max(1, guessed)
    kernels = planner.price(joined, ANALYTIC).kernels
    return sum(spacing_fs(one.time_fs * share // PPM, planner.gpu, planner.launch) for one in kernels)

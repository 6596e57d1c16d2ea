"""Groups in the making: disjoint clusters of operators that a greedy fuser joins, whether a join can be built
and scheduled, and the order in which clusters can be launched.

A join can be built where the planner's legality finds one kernel for it. Element-wise operators of one shape
that pass nothing to each other count as well (siblings): their kernel is one region that loads a shared
operand once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from simulator.fusion.groups import Group, Partition
from simulator.fusion.siblings import are_siblings

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

Names = frozenset[str]


class Clusters:
    """Disjoint clusters of a graph's operators, at first one for each."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.legality = planner.legality
        self.of = {operator.name: frozenset((operator.name,)) for operator in planner.graph.operators}

    def all(self) -> list[Names]:
        """Every cluster once, by its first operator."""
        return list(dict.fromkeys(self.of.values()))

    def join(self, clusters: Iterable[Names]) -> Names:
        """Make one of several; the one."""
        made = frozenset().union(*clusters)
        self.of.update(dict.fromkeys(made, made))
        return made

    def can_join(self, clusters: Iterable[Names]) -> bool:
        """Whether one kernel can compute clusters together, with an order for it and all others."""
        made = frozenset().union(*clusters)
        return buildable(self.planner, made) and self.has_order(made)

    def has_order(self, made: Names) -> bool:
        """Whether all clusters can be launched one after another if these operators were one."""
        left = [cluster for cluster in self.all() if not cluster <= made] + [made]
        return ordered(self.planner, left) is not None

    def partition(self) -> Partition:
        """The clusters as groups, in an order in which they can be launched."""
        found = ordered(self.planner, self.all())
        assert found is not None, "every join is checked for an order"
        numbers = self.legality.number
        return tuple(Group(tuple(sorted(cluster, key=numbers.__getitem__))) for cluster in found)


def buildable(planner: Planner, names: Names) -> bool:
    """Whether one kernel of the card can compute these operators."""
    refusal = planner.refused(names)
    if refusal is not None and not (refusal.rule == "apart" and are_siblings(planner, names)):
        return False
    numbers = planner.legality.number
    group = Group(tuple(sorted(names, key=numbers.__getitem__)))
    return planner.price(group, "analytic").refusal is None


def ordered(planner: Planner, clusters: Sequence[Names]) -> list[Names] | None:
    """Clusters in an order in which each finds its operands written, the earliest first; None where some
    would wait for ever.
    """
    legality = planner.legality
    home = {name: at for at, cluster in enumerate(clusters) for name in cluster}
    needs = [
        {
            home[legality.producers[tensor].name]
            for name in cluster
            for tensor in legality.operators[name].inputs
            if tensor in legality.producers
        }
        - {at}
        for at, cluster in enumerate(clusters)
    ]
    first = [min(legality.number[name] for name in cluster) for cluster in clusters]
    waiting = sorted(range(len(clusters)), key=first.__getitem__)
    done: set[int] = set()
    found: list[Names] = []
    while waiting:
        ready = [at for at in waiting if needs[at] <= done]
        if not ready:
            return None
        found.append(clusters[ready[0]])
        done.add(ready[0])
        waiting.remove(ready[0])
    return found

"""Horizontal fusion in one form: what of each level can stand in one launch does, by blocks or by warps,
whatever it costs. For looking at a form itself, as published horizontal fusers do with pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING

from simulator.fusion.groups import Group, Partition, horizontal, vertical
from simulator.fusion.ladder import ANALYTIC
from simulator.fusion.order import in_order
from simulator.fusion.sideways import MOST_PARTS, is_plain, levels_of
from simulator.workload.graph import Graph

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner


def in_form(form: str) -> Callable[[Graph, Planner], Partition]:
    """The strategy of one form."""

    def strategy(graph: Graph, planner: Planner) -> Partition:
        alone = [vertical(operator.name) for operator in graph.operators]
        levels = levels_of(planner, alone)
        found: list[Group] = []
        for _, members in groupby(sorted(alone, key=levels.__getitem__), key=levels.__getitem__):
            found += joined(planner, form, list(members))
        return in_order(planner.legality, found) or tuple(alone)

    return strategy


def joined(planner: Planner, form: str, groups: list[Group]) -> list[Group]:
    """The groups of one level in as few launches as the card allows, in their order."""
    launches: list[list[Group]] = []
    for group in groups:
        parts = [*launches[-1], group] if launches else [group]
        fits = is_plain(planner, group) and all(is_plain(planner, one) for one in parts)
        if launches and fits and len(parts) <= MOST_PARTS:
            price = planner.price(horizontal(form, parts), ANALYTIC)
            if price.refusal is None:
                launches[-1] = parts
                continue
        launches.append([group])
    return [parts[0] if len(parts) == 1 else horizontal(form, parts) for parts in launches]

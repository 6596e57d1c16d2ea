"""The search with the simulator's own prices against every partition there is: 20 chains of up to 10
operators and 20 graphs of up to 8, on five SMs.
"""

import random

import pytest

from simulator.fusion.groups import Group
from simulator.fusion.order import sound
from simulator.fusion.planner import Planner
from simulator.fusion.search_graph import Found, plan_graph
from simulator.fusion.strategies import partition_for
from simulator.workload.graph import Graph
from tests.simulator.fusion.support import chain, cheapest_of_all, planner_of, web

SHAPE = [4, 512]


def planned(planner: Planner) -> Found:
    def cost(group: Group) -> int | None:
        price = planner.price(group)
        return None if price.refusal is not None else price.total_fs

    def lower(group: Group) -> int | None:
        price = planner.price(group, "bytes")
        return None if price.refusal is not None else price.total_fs

    return plan_graph(planner.legality, cost, lower)


def agree(graph: Graph) -> None:
    planner = planner_of(graph, rung="full")
    found = planned(planner)

    def cost(group: Group) -> int | None:
        price = planner.price(group)
        return None if price.refusal is not None else price.total_fs

    least = cheapest_of_all(planner, cost)
    assert sound(planner.legality, found.partition)
    assert found.cost == planner.total(found.partition) == least
    # Prices were asked for as the search needed them, and the byte bound was one indeed.
    for group in found.partition:
        assert planner.price(group, "bytes").total_fs <= planner.price(group).total_fs
    # What a user asks for leaves out groups by their analytic prices; that loses nothing here.
    assert planner.total(partition_for("vertical", planner)) == least


@pytest.mark.parametrize("seed", range(20))
def test_chains(seed: int) -> None:
    agree(chain(random.Random(seed).randint(5, 10), random.Random(seed), SHAPE))


@pytest.mark.parametrize("seed", range(20))
def test_graphs(seed: int) -> None:
    agree(web(random.Random(seed).randint(5, 8), random.Random(seed), SHAPE))

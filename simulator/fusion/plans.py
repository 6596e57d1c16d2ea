"""From a strategy to the plan that the rest of the program knows: kernels in launch order, views, groups."""

from __future__ import annotations

from simulator.fusion.groups import Partition, operators_of
from simulator.fusion.planner import Planner
from simulator.fusion.strategies import partition_for
from simulator.workload.groups import Group
from simulator.workload.plan import Plan, Planned


def plan_with(planner: Planner, strategy: str) -> tuple[Plan, Partition]:
    """The plan of a strategy, and its groups by name."""
    partition = partition_for(strategy, planner)
    return plan_of(planner, strategy, partition), partition


def plan_of(planner: Planner, strategy: str, partition: Partition) -> Plan:
    """The plan of a partition."""
    graph = planner.graph
    kernels: list[Planned] = []
    groups: list[Group] = []
    views: list[str] = []
    for group in partition:
        made = planner.kernels(group)
        groups.append(made[0].group if made else Group(tuple(operators_of(graph, group))))
        kernels += made
        if not made:
            operator = groups[-1].operators[0]
            views.append(f"{operator.name}: {operator.kind} is a view")
    return Plan(graph, strategy, tuple(kernels), tuple(views), tuple(groups))

"""The strategies by name: each makes a partition of a graph with the help of a planner that knows what is
legal and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simulator.fusion.groups import Partition, vertical
from simulator.workload.graph import Graph

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

Strategy = Callable[[Graph, "Planner"], Partition]


def none(graph: Graph, _planner: Planner) -> Partition:
    """Each operator alone."""
    return tuple(vertical(operator.name) for operator in graph.operators)


STRATEGIES: dict[str, Strategy] = {"none": none}

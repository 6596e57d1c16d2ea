"""Regions of element-wise operators around one another that one kernel can compute: chains, diamonds, several
results.

A region grows in the graph's order from its first operator, by readers of its values whose other inputs were
written before the kernel; so it never waits for itself. What somebody outside reads is written as well.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from simulator.workload.element_operators import refused
from simulator.workload.graph import Graph, Operator

MOST_OPERANDS = 8
MOST_OPERATORS = 48


def region_from(
    graph: Graph,
    first: Operator,
    consumers: Mapping[str, list[Operator]],
    written: set[str],
    places: Mapping[str, int],
) -> tuple[Operator, ...]:
    """The operators of the region that starts at `first`, in the graph's order."""
    shape = result_shape(graph, first)
    members = [first]
    inside = {name for name in first.outputs if name}
    outside = {name for name in first.inputs if name}
    waiting: list[tuple[int, str]] = []
    known = {first.name}
    named = {}

    def look_at_readers(operator: Operator) -> None:
        for value in operator.outputs:
            for reader in consumers.get(value, []):
                if reader.name not in known:
                    known.add(reader.name)
                    named[reader.name] = reader
                    heappush(waiting, (places[reader.name], reader.name))

    look_at_readers(first)
    while waiting and len(members) < MOST_OPERATORS:
        operator = named[heappop(waiting)[1]]
        others = {name for name in operator.inputs if name} - inside
        if (
            others <= written
            and len(outside | others) <= MOST_OPERANDS
            and not refused(graph, operator)
            and result_shape(graph, operator) == shape
        ):
            members.append(operator)
            inside.update(name for name in operator.outputs if name)
            outside |= others
            look_at_readers(operator)
    return tuple(members)


def result_shape(graph: Graph, operator: Operator) -> tuple[int, ...]:
    """The shape of an operator's first result."""
    return graph.tensors[next(name for name in operator.outputs if name)].shape


def leaving(graph: Graph, members: tuple[Operator, ...]) -> list[tuple[str, Operator]]:
    """Values of a region that are needed outside it, each with its operator."""
    chosen = {operator.name for operator in members}
    consumers = graph.consumers()
    found = []
    for operator in members:
        for name in operator.outputs:
            readers = {one.name for one in consumers.get(name, [])}
            if name and (graph.tensors[name].kind == "output" or not readers or not readers <= chosen):
                found.append((name, operator))
    return found

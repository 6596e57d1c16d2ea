"""Which operators share a kernel: each alone (`none`), or each convolution and each element-wise operator
with the chain of element-wise operators behind it that only it feeds, or a whole region of element-wise
operators (`vertical`).

A second operand of a fused addition must have been written by an earlier kernel. This is the plain rule;
pricing alternatives belongs to the planner.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hwmodels.errors import unknown
from simulator.workload.element_groups import region_from
from simulator.workload.element_operators import refused
from simulator.workload.epilogue_operators import carries
from simulator.workload.graph import Graph, Operator
from simulator.workload.image_operators import carries_chain
from simulator.workload.layout import Layout
from simulator.workload.legality import chained_input, convolution_of
from simulator.workload.products import KINDS, layout_rule, product_of
from simulator.workload.row_groups import with_row

STRATEGIES = ("none", "vertical")


@dataclass(frozen=True, slots=True)
class Group:
    """Operators of one kernel, in order; `ends` says why the chain stopped there."""

    operators: tuple[Operator, ...]
    ends: str = ""


def groups_for(graph: Graph, strategy: str) -> list[Group]:
    """The kernels of a graph, in launch order."""
    if strategy not in STRATEGIES:
        raise unknown("fusion", "strategy", strategy, STRATEGIES)
    if strategy == "none":
        return [Group((operator,), "no fusion asked for") for operator in graph.operators]
    groups: list[Group] = []
    consumers, layout = graph.consumers(), layout_rule(graph)
    places = {operator.name: index for index, operator in enumerate(graph.operators)}
    taken: set[str] = set()
    written = {name for name, tensor in graph.tensors.items() if tensor.kind in {"input", "weight"}}
    for operator in graph.operators:
        if operator.name in taken:
            continue
        group = chain_from(graph, operator, consumers, written, layout)
        if not refused(graph, operator):
            region = region_from(graph, operator, consumers, written, places)
            if len(region) > len(group.operators):
                group = Group(region, "no further element-wise operator of this shape is ready")
        joined = with_row(graph, group.operators, consumers, written, places)
        if len(joined) > len(group.operators):
            group = Group(joined, "a row and the element-wise operators around it")
        groups.append(group)
        taken.update(member.name for member in group.operators)
        written.update(output for member in group.operators for output in member.outputs)
    return groups


def chain_from(
    graph: Graph,
    first: Operator,
    consumers: dict[str, list[Operator]],
    written: set[str],
    layout: Callable[[str], Layout],
) -> Group:
    """The longest chain that the rule allows behind `first`."""
    members = [first]
    product = first.kind in KINDS and product_of(graph, first, layout)[0] is not None
    heavy = product or convolution_of(graph, first)[0] is not None or carries_chain(graph, first)
    if not heavy and chained_input(graph, first) is None:
        return Group((first,), f"{first.kind} carries no chain")
    while True:
        value = next(output for output in members[-1].outputs if output)
        readers = consumers.get(value, [])
        if graph.tensors[value].kind == "output":
            return Group(tuple(members), f"{value} leaves this part of the graph")
        if len(readers) != 1:
            return Group(tuple(members), f"{value} has {len(readers)} readers")
        following = readers[0]
        behind = heavy and carries(graph, following, value, layout(value))
        if not behind and chained_input(graph, following, value) != value:
            return Group(tuple(members), f"{following.kind} is not element-wise in {value}")
        missing = [name for name in following.inputs if name != value and name not in written]
        if missing:
            return Group(
                tuple(members), f"{following.name} also needs {missing[0]}, which is not written yet"
            )
        members.append(following)

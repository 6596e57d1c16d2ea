"""Which operators only move data, why some are refused, and the kernels of those that are taken: views
without a kernel, copies, transpositions through shared memory.

Reshape, Flatten, Squeeze, Unsqueeze and Identity are views where memory stays as it is, else copies between
layouts. Split is one copy an output, as frameworks launch it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from simulator.workload.builders.copy import copy_kernel
from simulator.workload.builders.transpose import transpose_kernel, turned
from simulator.workload.graph import Graph, Operator
from simulator.workload.groups import Group
from simulator.workload.ir import Kernel
from simulator.workload.layout import Layout
from simulator.workload.movement_rules import Moved, Moving
from simulator.workload.movement_sources import SOURCES
from simulator.workload.rearrange import copy_of, is_view, reshaped

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

RESHAPES = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
KINDS = RESHAPES | frozenset(SOURCES)
LayoutOf = Callable[[str], Layout]


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator is no data movement that can be built; empty where it is. What depends on how tensors
    lie is found when the kernel is made.
    """
    names = [name for name in (*operator.inputs[:1], *operator.outputs) if name]
    if any(not graph.tensors[name].elements for name in names):
        return f"{operator.kind} of an empty tensor has no kernel program"
    if operator.kind in RESHAPES:
        return ""
    return SOURCES[operator.kind].refused(graph, operator)


def view_root(graph: Graph, operator: Operator, layout: LayoutOf) -> str:
    """The tensor that an operator's result is another name of; empty where it moves data."""
    if operator.kind not in RESHAPES or refused(graph, operator):
        return ""
    source, result = operator.inputs[0], operator.outputs[0]
    return source if is_view(layout(source), layout(result)) else ""


def moves(graph: Graph, operator: Operator) -> bool:
    """Whether an operator only moves data, in a way that can be built."""
    return operator.kind in KINDS and not refused(graph, operator)


def inputs_read(operator: Operator) -> int:
    """How many of the inputs are read by kernels: shapes, starts and pads are known before."""
    return len(operator.inputs) if operator.kind == "Concat" else 1


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """The programs of one operator; none for a view."""
    operator = operators[0]
    if view_root(maker.graph, operator, maker.layout):
        return []
    found = []
    results = [one for one in operator.outputs if one]
    for number, result in enumerate(results):
        label = name if len(results) == 1 else f"{name}.{number}"
        moved = moved_of(maker, operator, result)
        if moved is None:
            reason = f"{operator.kind} between shapes without common factors has no kernel program"
            return [maker.opaque(Group(operators), reason)]
        layout = maker.layout(result)
        copying = copy_of(layout, maker.place(result), moved.digits, moved.sources, moved.fill)
        simple = copying.simplified()
        builder = copy_kernel if turned(simple) is None else transpose_kernel
        found.append(builder(label, operator.name, simple))
    return found


def moved_of(maker: "KernelMaker", operator: Operator, result: str) -> Moved | None:
    """What a result consists of."""
    if operator.kind not in RESHAPES:
        return SOURCES[operator.kind].moved(Moving(maker.graph, operator, result, maker.layout, maker.place))
    source = operator.inputs[0]
    plan = reshaped(maker.layout(source), maker.layout(result))
    if plan is None:
        return None
    digits, strides = plan
    return Moved.of(digits, maker.place(source), strides)

"""Operators whose addresses hang on values: Gather of whole rows (embedding look-up) and Histogram. The
pattern that the values are taken to follow stands in the kernel's notes.

Constant indices that follow no such pattern, and gathers along inner axes, are refused.
"""

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from simulator.workload.builders.gather import Pattern, Table, gather_kernel
from simulator.workload.builders.histogram import Bins, histogram_kernel
from simulator.workload.graph import ITEM_BYTES, Graph, Operator
from simulator.workload.ir import Kernel

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

KINDS = frozenset({"Gather", "Histogram"})
INDEX_TYPES = frozenset({"int32", "int64"})


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator has no program here; empty where it has one."""
    if operator.kind == "Histogram":
        kind = graph.tensors[operator.inputs[0]].dtype
        return "" if kind == "int32" else f"Histogram of {kind} has no kernel program"
    table, indices = (graph.tensors[name] for name in operator.inputs[:2])
    axis = int(np.asarray(operator.attribute("axis", 0))) % max(1, len(table.shape))
    if not table.elements or not indices.elements:
        return "Gather of an empty tensor has no kernel program"
    if prod(table.shape[:axis]) != 1:
        return "Gather along an inner axis has no kernel program"
    if indices.dtype not in INDEX_TYPES:
        return f"Gather by {indices.dtype} has no kernel program"
    if indices.values is not None and pattern_of(graph, operator) is None:
        return "Gather by constants without a pattern has no kernel program"
    return ""


def pattern_of(graph: Graph, operator: Operator) -> Pattern | None:
    """The pattern of the indices: that of constants where they have one, else scattered."""
    table, indices = (graph.tensors[name] for name in operator.inputs[:2])
    axis = int(np.asarray(operator.attribute("axis", 0))) % max(1, len(table.shape))
    rows = table.shape[axis]
    if indices.values is None:
        return Pattern.scattered(rows)
    values = [int(one) % rows for one in indices.values]
    step = (values[1] - values[0]) % rows if len(values) > 1 else 0
    pattern = Pattern(step, values[0], rows)
    return pattern if pattern.values(len(values)) == values else None


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """The program of one operator."""
    operator, graph = operators[0], maker.graph
    places = [maker.place(one) for one in (*operator.inputs[:2], operator.outputs[0])]
    if operator.kind == "Histogram":
        elements = graph.tensors[operator.inputs[0]].elements
        bins = Bins(graph.tensors[operator.outputs[0]].elements)
        return [histogram_kernel(name, operator.name, elements, bins, places[0], places[-1])]
    pattern = pattern_of(graph, operator) or Pattern.scattered(1)
    values, indices = (graph.tensors[one] for one in operator.inputs[:2])
    axis = int(np.asarray(operator.attribute("axis", 0))) % max(1, len(values.shape))
    row_bytes = prod(values.shape[axis + 1 :]) * ITEM_BYTES[values.dtype]
    table = Table(row_bytes, ITEM_BYTES[indices.dtype], indices.elements)
    return [gather_kernel(name, operator.name, table, pattern, places[0], places[1], places[2])]

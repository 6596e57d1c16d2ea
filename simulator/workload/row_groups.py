"""Rows with the element-wise operators around them in one kernel: a region that feeds a softmax, a
normalisation or a reduction, and the region that reads its result.

What stands behind the row may not read what stands before it, since that is no longer in registers. Random
numbers stay in kernels of their own, which know the element's index.
"""

from collections.abc import Mapping

from simulator.workload.element_groups import region_from, result_shape
from simulator.workload.element_operators import refused as element_refused
from simulator.workload.graph import Graph, Operator
from simulator.workload.products import layout_rule
from simulator.workload.row_operators import KINDS, LONG_ROW, REDUCTIONS, axes_of, refused

ALONE = frozenset({"Dropout"})


def with_row(
    graph: Graph,
    region: tuple[Operator, ...],
    consumers: Mapping[str, list[Operator]],
    written: set[str],
    places: Mapping[str, int],
) -> tuple[Operator, ...]:
    """The region with the first row operator that it feeds and what follows that; empty where none can join.

    A region that is one row operator itself only gets what follows.
    """
    if region[0].kind in KINDS and not refused(graph, region[0]):
        return followed(graph, region[0], consumers, written, places)
    if element_refused(graph, region[0]) or any(operator.kind in ALONE for operator in region):
        return ()
    made = {name for operator in region for name in operator.outputs if name}
    readers = {one.name: one for name in made for one in consumers.get(name, [])}
    for reader in sorted(readers.values(), key=lambda one: places[one.name]):
        if reader.kind not in KINDS or reader.inputs[0] not in made or refused(graph, reader):
            continue
        others = {name for name in reader.inputs[1:] if name}
        if others <= written and short_rows(graph, reader):
            return (*region, *followed(graph, reader, consumers, written, places))
    return ()


def counts_elements(graph: Graph, row: Operator) -> bool:
    """Whether a kernel on rows knows each element's number, as random numbers need: rows along the innermost
    axes of a tensor without padding.
    """
    shape = graph.tensors[row.inputs[0]].shape
    axes = axes_of(graph, row)
    innermost = axes == frozenset(range(len(shape) - len(axes), len(shape)))
    return innermost and row.kind not in REDUCTIONS and layout_rule(graph)(row.inputs[0]).role == "flat"


def short_rows(graph: Graph, operator: Operator) -> bool:
    """Whether a reduction's rows lie along the innermost axis and are not shared by blocks."""
    if operator.kind not in REDUCTIONS:
        return True
    shape = graph.tensors[operator.inputs[0]].shape
    axes = axes_of(graph, operator)
    length = 1
    for axis in axes:
        length *= shape[axis]
    return len(shape) - 1 in axes and length < LONG_ROW


def followed(
    graph: Graph,
    row: Operator,
    consumers: Mapping[str, list[Operator]],
    written: set[str],
    places: Mapping[str, int],
) -> tuple[Operator, ...]:
    """A row operator and the element-wise region behind its first result."""
    if row.kind in REDUCTIONS or result_shape(graph, row) != graph.tensors[row.inputs[0]].shape:
        return (row,)
    region = region_from(graph, row, consumers, written, places)
    side = {name for name in row.outputs[1:] if name}
    for operator in region[1:]:
        if operator.kind in ALONE or side & set(operator.inputs):
            return (row,)
    return region

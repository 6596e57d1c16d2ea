"""What an epilogue of a convolution or matrix product carries beyond sums, activations by maximum and scales:
functions of one operand, and the addition of one weight to each column.
"""

from typing import Protocol

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.element_operators import UNARY
from simulator.workload.graph import Graph, Operator
from simulator.workload.layout import DTYPES, Layout
from simulator.workload.legality import ADDITIONS

NOT_CARRIED = frozenset({"Identity", "Not"})


class Maker(Protocol):
    """What is needed of the maker of a graph's kernels."""

    graph: Graph

    def layout(self, name: str) -> Layout:
        """How a tensor is stored."""

    def place(self, name: str) -> TensorInfo:
        """A tensor of the graph in memory."""

    def vector(self, name: str, channels: int) -> TensorInfo:
        """Channel parameters in single precision."""


def carries(graph: Graph, operator: Operator, value: str, layout: Layout) -> bool:
    """Whether an epilogue that has made `value`, stored in `layout`, can go on with this operator."""
    outputs = [name for name in operator.outputs if name]
    tensor = graph.tensors[value]
    if len(outputs) != 1 or tensor.dtype not in DTYPES:
        return False
    result = graph.tensors[outputs[0]]
    if (result.dtype, result.shape) != (tensor.dtype, tensor.shape):
        return False
    if operator.kind in UNARY:
        return operator.kind not in NOT_CARRIED and operator.inputs == (value,)
    return bool(added_column(graph, operator, value, layout))


def added_column(graph: Graph, operator: Operator, value: str, layout: Layout) -> str:
    """The weight that an addition adds to each column of `value`, or nothing."""
    if operator.kind not in ADDITIONS or len(operator.inputs) != 2 or value not in operator.inputs:
        return ""
    other = operator.inputs[0] if operator.inputs[1] == value else operator.inputs[1]
    tensor, shape = graph.tensors[other], graph.tensors[value].shape
    place = len(shape) - layout.innermost
    if tensor.kind != "weight" or not place <= len(tensor.shape) <= len(shape):
        return ""
    wanted = [1] * len(tensor.shape)
    wanted[-place] = shape[layout.innermost]
    return other if list(tensor.shape) == wanted and shape != tensor.shape else ""


def stage_of(maker: Maker, operator: Operator, value: str, result: str) -> Stage | None:
    """The stage of an operator that `carries` takes; None for any other."""
    source, made = maker.place(value), maker.place(result)
    if operator.kind in UNARY and operator.kind != "Relu":
        unary = UNARY[operator.kind]
        return Stage(
            "function",
            operator.name,
            source,
            made,
            function=unary.function,
            numbers=tuple(unary.numbers(operator)),
        )
    layout = maker.layout(value)
    other = added_column(maker.graph, operator, value, layout)
    if not other:
        return None
    columns = maker.graph.tensors[value].shape[layout.innermost]
    return Stage("affine", operator.name, source, made, None, maker.vector(f"{other}.shift", columns))

"""Batch normalisation in training: statistics of the batch down the channels, then scale and shift, in three
kernels as frameworks launch them.
"""

from math import prod
from typing import TYPE_CHECKING

from simulator.workload.builders.axes import right_aligned
from simulator.workload.builders.column_results import MOMENTS, Training, Vector, batch_statistics
from simulator.workload.builders.columns import Columns, column_kernel, segments_for
from simulator.workload.builders.pointwise import pointwise_kernel
from simulator.workload.builders.pointwise_program import Node, Operand, Pointwise, Result
from simulator.workload.element_operators import number
from simulator.workload.graph import Graph, Operator
from simulator.workload.ir import Kernel
from simulator.workload.layout import DTYPES, Layout, padded_channels

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

KINDS = frozenset({"BatchNormalization"})
OPERANDS = 5


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator is no batch normalisation in training with a program."""
    if not operator.attribute("training_mode", 0):
        return "BatchNormalization of this form has no kernel program"
    names = [name for name in (*operator.inputs, *operator.outputs) if name]
    if len(operator.inputs) != OPERANDS or any(graph.tensors[name].dtype not in DTYPES for name in names):
        return f"BatchNormalization of {graph.tensors[names[0]].dtype} has no kernel program"
    if len(graph.tensors[operator.inputs[0]].shape) < 2 or not graph.tensors[operator.inputs[0]].elements:
        return "BatchNormalization without channels has no kernel program"
    return ""


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """Statistics by blocks, statistics of the batch, and the normalisation itself."""
    operator = operators[0]
    source, result = operator.inputs[0], operator.outputs[0]
    layout = maker.layout(source)
    channels = layout.shape[1]
    stored = channels if layout.role == "flat" else layout.channels
    rows = prod(layout.shape) // channels
    segments = segments_for(rows, maker.target.sm_count)
    what = Columns(maker.place(source), layout.dtype, rows, stored, segments)
    partial = maker.placement.place(
        f"{result}.partial",
        Layout((len(MOMENTS) * segments * stored,), "float32", "flat"),
        "intermediate",
    )
    folded = Layout((1, channels), "float32", "activation" if stored == padded_channels(channels) else "flat")
    scale, shift = (
        maker.placement.place(f"{result}.{part}", folded, "intermediate") for part in ("scale", "shift")
    )
    gamma, beta, *before = (
        Vector(maker.place(one), maker.graph.tensors[one].dtype) for one in operator.inputs[1:OPERANDS]
    )
    after: list[Vector | None] = [
        Vector(maker.place(one), maker.graph.tensors[one].dtype) if one else None
        for one in (*operator.outputs[1:3], "", "")[:2]
    ]
    training = Training(
        gamma,
        beta,
        Vector(scale, "float32"),
        Vector(shift, "float32"),
        ((before[0], after[0]), (before[1], after[1])),
        number(operator, "epsilon", 1e-5),
        number(operator, "momentum", 0.9),
        channels,
    )
    axes = right_aligned(layout.shape, len(layout.shape))
    own = maker.layout(result)
    program = Pointwise(
        (
            Operand(maker.place(source), layout, axes, operator.name),
            Operand(scale, folded, (0, 1), operator.name),
            Operand(shift, folded, (0, 1), operator.name),
        ),
        (Node("affine", operator.name, (0, 1, 2), maker.place(result)),),
        (Result(3, maker.place(result), own, operator.name),),
    )
    return [
        column_kernel(f"{name}.part", operator.name, what, MOMENTS, partial, shifted=True),
        batch_statistics(f"{name}.statistics", operator.name, what, partial, training),
        pointwise_kernel(f"{name}.apply", program),
    ]

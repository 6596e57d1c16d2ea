"""From a MatMul or Gemm and the element-wise chain behind it to one kernel: operands with their strides, what
is added as the first stages of the epilogue.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.product import Operand, Product
from simulator.workload.builders.product_kernel import product_kernel
from simulator.workload.graph import Operator
from simulator.workload.ir import Kernel
from simulator.workload.products import ProductPlan
from simulator.workload.target import Target

Array = npt.NDArray[np.generic]


class Maker(Protocol):
    """What is needed of the maker of a graph's kernels."""

    target: Target

    def place(self, name: str) -> TensorInfo:
        """A tensor of the graph in memory."""

    def named(self, name: str, like: str) -> TensorInfo:
        """An intermediate that the graph does not name."""

    def bias_stage(self, operator: Operator, result: str) -> tuple[Stage, ...]:
        """A vector of biases as the first stage of an epilogue."""

    def stages(self, operators: tuple[Operator, ...], value: str) -> tuple[Stage, ...]:
        """A chain of element-wise operators."""

    def kept(self, operators: tuple[Operator, ...]) -> frozenset[str]:
        """Values of a group that somebody else reads."""


def group_product(
    maker: Maker, name: str, first: Operator, rest: tuple[Operator, ...], plan: ProductPlan
) -> Kernel:
    """The kernel of a product and its chain."""
    output = first.outputs[0]
    raw, stages = maker.place(output), maker.stages(rest, output)
    if plan.bias:
        raw = maker.named(f"{output}.product", output)
    if plan.bias == "column":
        stages = maker.bias_stage(first, output) + stages
    elif plan.bias == "matrix":
        added = Stage("add", first.name, raw, maker.place(output), other=maker.place(first.inputs[2]))
        stages = (added, *stages)
    left, right, result = plan.left, plan.right, plan.result
    operands = (
        Operand(maker.place(first.inputs[0]), left.row, left.column, left.batch),
        Operand(maker.place(first.inputs[1]), right.column, right.row, right.batch),
    )
    product = Product(plan.rows, plan.columns, plan.depth, plan.batch, plan.element_bytes)
    return product_kernel(
        name,
        first.name,
        product,
        operands,
        Operand(raw, result.row, 1, result.batch),
        stages,
        maker.target,
        scale=plan.scale,
        kept=maker.kept((first, *rest)),
    )


def bias_values(operator: Operator, value: Array) -> dict[str, Array]:
    """A column bias times beta, which a framework computes once, by the name that kernels use."""
    beta = operator.attribute("beta", 1.0)
    factor = float(beta) if isinstance(beta, int | float) else 1.0
    return {f"{operator.inputs[2]}.shift": value.astype(np.float64).reshape(1, -1) * factor}

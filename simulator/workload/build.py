"""From a group of operators to its kernel: places tensors in memory, turns operators into stages, picks the
builder.

Inference batch normalisation becomes a scale and a shift a channel, which a framework computes once when it
loads the weights; they are tensors of their own here (`<output>.scale`, `<output>.shift`), in single
precision.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from simulator.trace.schema import TensorInfo
from simulator.workload.build_products import group_product
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.convolution import convolution_kernel
from simulator.workload.builders.depthwise import depthwise_kernel
from simulator.workload.builders.elementwise import elementwise_kernel
from simulator.workload.builders.opaque import opaque_kernel
from simulator.workload.element_groups import leaving
from simulator.workload.element_operators import refused
from simulator.workload.epilogue_operators import stage_of
from simulator.workload.families import family_of
from simulator.workload.graph import KERNEL, Graph, Operator
from simulator.workload.groups import Group
from simulator.workload.ir import Kernel
from simulator.workload.layout import Layout, Placement
from simulator.workload.legality import ADDITIONS, chained_input, convolution_of, is_chain
from simulator.workload.movement import inputs_read, moves, view_root
from simulator.workload.products import KINDS, ProductPlan, layout_rule, product_of
from simulator.workload.target import Target

Array = npt.NDArray[np.generic]
NAMED_KINDS = 6
SHORT = {"BatchNormalization": "bn"}


class KernelMaker:
    """Makes the kernels of one graph; tensors keep their addresses from kernel to kernel."""

    def __init__(self, graph: Graph, target: Target, placement: Placement | None = None) -> None:
        self.graph = graph
        self.target = target
        self.placement = placement or Placement()
        self.plain_layout = layout_rule(graph)
        self.filters: dict[str, str] = {}
        for operator in graph.operators:
            shape = convolution_of(graph, operator)[0]
            if shape is not None:
                self.filters[operator.inputs[1]] = "taps" if shape.depthwise else "filter"
        self.place_all()

    def place_all(self) -> None:
        """Places in the graph's order, so that a tensor lies at the same address under every strategy."""
        for operator in self.graph.operators:
            keeps = len(operator.inputs)
            if convolution_of(self.graph, operator)[0] is not None or self.column_bias(operator):
                keeps = 2
            elif operator.kind == "BatchNormalization" and not refused(self.graph, operator):
                keeps = 1
            elif moves(self.graph, operator):
                keeps = inputs_read(operator)
            for name in operator.inputs[:keeps]:
                if name:
                    self.place(name)
            root = view_root(self.graph, operator, self.layout)
            if root:
                self.placement.share(operator.outputs[0], root)
            for name in operator.outputs:
                if name:
                    self.place(name)

    def kernels(self, group: Group) -> list[Kernel]:
        """The programs of a group, in launch order."""
        first = group.operators[0]
        if convolution_of(self.graph, first)[0] is not None or self.product(first) is not None:
            return [self.kernel(group)]
        if self.graph.rounding == KERNEL and is_chain(self.graph, group.operators):
            return [self.kernel(group)]
        family, reason = family_of(self.graph, first)
        if family is not None:
            return family.kernels(self, group.operators, name_of(group))
        return [self.opaque(group, reason)]

    def kernel(self, group: Group) -> Kernel:
        """The program of a convolution or product with its epilogue, or of a chain of one layout."""
        first, rest = group.operators[0], group.operators[1:]
        shape, _ = convolution_of(self.graph, first)
        name = name_of(group)
        if shape is not None:
            result = next(output for output in first.outputs if output)
            stages = self.bias_stage(first, result) + self.stages(rest, result)
            raw = self.place(result) if len(first.inputs) < 3 else self.named(f"{result}.product", result)
            sources = self.place(first.inputs[0]), self.place(first.inputs[1])
            if shape.depthwise:
                return depthwise_kernel(name, first.name, shape, *sources, raw, stages)
            kept = self.kept(group.operators)
            return convolution_kernel(name, first.name, shape, *sources, raw, stages, self.target, kept=kept)
        product = self.product(first)
        if product is not None:
            return group_product(self, name, first, rest, product)
        source = chained_input(self.graph, first) or first.inputs[0]
        layout = self.layout(next(output for output in first.outputs if output))
        return elementwise_kernel(name, self.stages(group.operators, source), layout)

    def kept(self, operators: tuple[Operator, ...]) -> frozenset[str]:
        """Values of a group that somebody else reads."""
        return frozenset(name for name, _ in leaving(self.graph, operators))

    def opaque(self, group: Group, reason: str) -> Kernel:
        """The stand-in for an operator without a program."""
        first = group.operators[0]
        if first.kind in KINDS:
            reason = product_of(self.graph, first, self.layout)[1]
        elif first.kind == "Conv":
            reason = convolution_of(self.graph, first)[1]
        names = dict.fromkeys(one for one in first.inputs if one)
        return opaque_kernel(
            name_of(group),
            first.name,
            tuple(self.place(one) for one in names),
            tuple(self.place(one) for one in first.outputs if one),
            f"{first.name}: {reason}",
        )

    def product(self, operator: Operator) -> ProductPlan | None:
        """The matrix product of an operator that is one."""
        return product_of(self.graph, operator, self.layout)[0] if operator.kind in KINDS else None

    def column_bias(self, operator: Operator) -> bool:
        """Whether a product adds one weight to each column."""
        plan = self.product(operator)
        return plan is not None and plan.bias == "column"

    def layout(self, name: str) -> Layout:
        """How a tensor of the graph is stored."""
        tensor = self.graph.tensors[name]
        if name in self.filters:
            return Layout(tensor.shape, tensor.dtype, self.filters[name])
        return self.plain_layout(name)

    def place(self, name: str) -> TensorInfo:
        """A tensor of the graph in memory."""
        return self.placement.place(name, self.layout(name), self.graph.tensors[name].kind)

    def named(self, name: str, like: str) -> TensorInfo:
        """An intermediate that the graph does not name, laid out like one that it does."""
        return self.placement.place(name, self.layout(like), "intermediate")

    def vector(self, name: str, channels: int) -> TensorInfo:
        """Channel parameters in single precision."""
        return self.placement.place(name, Layout((1, channels), "float32", "activation"), "weight")

    def bias_stage(self, operator: Operator, result: str) -> tuple[Stage, ...]:
        """The bias of a convolution or product, if it has one, as the first stage of its epilogue."""
        if len(operator.inputs) < 3 or not operator.inputs[2]:
            return ()
        shift = self.vector(f"{operator.inputs[2]}.shift", self.graph.tensors[result].shape[1])
        product = self.named(f"{result}.product", result)
        return (Stage("affine", operator.name, product, self.place(result), None, shift),)

    def stages(self, operators: tuple[Operator, ...], value: str) -> tuple[Stage, ...]:
        """A chain of element-wise operators that starts from `value`."""
        found: list[Stage] = []
        for operator in operators:
            result = next(output for output in operator.outputs if output)
            source = self.place(value)
            carried = stage_of(self, operator, value, result)
            if carried is not None:
                found.append(carried)
            elif operator.kind in ADDITIONS:
                found += self.additions(operator, value, result)
            elif operator.kind == "Relu":
                found.append(Stage("relu", operator.name, source, self.place(result)))
            else:
                channels = self.graph.tensors[result].shape[1]
                scale = self.vector(f"{result}.scale", channels)
                shift = self.vector(f"{result}.shift", channels)
                found.append(Stage("affine", operator.name, source, self.place(result), scale, shift))
            value = result
        return tuple(found)

    def additions(self, operator: Operator, value: str, result: str) -> list[Stage]:
        """A sum of any number of operands, one addition for each beyond the first."""
        others = list(operator.inputs)
        others.remove(value)
        # The value itself, if it stands twice, is added while its register still holds it.
        others.sort(key=lambda other: other != value)
        found = []
        source = self.place(value)
        for index, other in enumerate(others):
            last = index == len(others) - 1
            made = self.place(result) if last else self.named(f"{result}.part{index}", result)
            second = None if other == value else self.place(other)
            found.append(Stage("add", operator.name, source, made, other=second))
            source = made
        return found


def name_of(group: Group) -> str:
    """A kernel's name: what it does and the first operator that it does it for."""
    words = [SHORT.get(operator.kind, operator.kind.lower()) for operator in group.operators]
    if len(words) > NAMED_KINDS:
        words = [*words[:NAMED_KINDS], f"and{len(words) - NAMED_KINDS}"]
    kinds = "_".join(words)
    return f"{kinds}:{group.operators[0].name}"


def folded(operator: Operator, values: Mapping[str, Array]) -> dict[str, Array]:
    """Scale and shift of an inference batch normalisation from its parameters' values, by the names that
    kernels use.
    """
    gamma, beta, mean, variance = (values[name].astype(np.float64) for name in operator.inputs[1:5])
    epsilon = float(np.asarray(operator.attribute("epsilon", 1e-5)))
    scale = gamma / np.sqrt(variance + epsilon)
    result = next(output for output in operator.outputs if output)
    return {f"{result}.scale": scale[None, :], f"{result}.shift": (beta - mean * scale)[None, :]}

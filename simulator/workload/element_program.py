"""Makes the element-wise program of a group of operators: each becomes one or a few element functions over
values that are read once, kept in registers, and written where somebody outside the group needs them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.axes import right_aligned
from simulator.workload.builders.cells import LIMITS
from simulator.workload.builders.pointwise_program import RANDOM, Node, Operand, Pointwise, Result
from simulator.workload.element_operators import BINARY, UNARY, VARIADIC, axis_of, number
from simulator.workload.graph import OPERATOR, Graph, Operator
from simulator.workload.layout import Layout

Place = Callable[[str], TensorInfo]
DROPPED_BY_DEFAULT = 0.5
SEED = 0x5EED


class ElementProgram:
    """The program under construction. `place` and `layout` give a graph tensor's memory, `vector` that of
    folded channel parameters, `extra` that of an intermediate without a name.
    """

    def __init__(
        self,
        graph: Graph,
        place: Place,
        layout: Callable[[str], Layout],
        vector: Callable[[str, int], TensorInfo],
        shape: tuple[int, ...],
    ) -> None:
        self.graph = graph
        self.place = place
        self.layout = layout
        self.vector = vector
        self.shape = shape
        self.values: dict[str, int] = {}
        self.operands: list[Operand] = []
        self.nodes: list[Node] = []
        self.results: list[Result] = []
        self.operator = ""
        self.made: dict[int, int] = {}

    def operand(self, name: str, axes: tuple[int, ...] | None = None) -> int:
        """The value of a tensor: of the group's own, or read (operands count down from -1 until the end)."""
        if name in self.values and axes is None:
            return self.values[name]
        layout = self.layout(name)
        found = right_aligned(layout.shape, len(self.shape)) if axes is None else axes
        self.operands.append(Operand(self.place(name), layout, found, self.operator))
        value = -len(self.operands)
        if axes is None:
            self.values[name] = value
        return value

    def channel(self, name: str, channels: int) -> int:
        """A vector of channel parameters."""
        info = self.vector(name, channels)
        self.operands.append(
            Operand(info, Layout((1, channels), "float32", "activation"), (0, 1), self.operator)
        )
        return -len(self.operands)

    def node(self, function: str, inputs: Sequence[int], result: str, numbers: tuple[float, ...] = ()) -> int:
        """One element function; `result` is the tensor that its value belongs to."""
        self.nodes.append(Node(function, self.operator, tuple(inputs), self.place(result), numbers))
        return len(self.nodes) - 1

    def add(self, operator: Operator) -> None:
        """Append one operator."""
        self.operator = operator.name
        kind, result = operator.kind, next(name for name in operator.outputs if name)
        if kind in UNARY:
            rule = UNARY[kind]
            value = self.node(
                rule.function, [self.operand(operator.inputs[0])], result, rule.numbers(operator)
            )
        elif kind in BINARY and self.immediate(operator) is not None:
            value = self.with_immediate(operator, result)
        elif kind in BINARY:
            value = self.node(BINARY[kind], [self.operand(name) for name in operator.inputs], result)
        elif kind in VARIADIC:
            value = self.variadic(operator, result)
        else:
            value = OTHER_OPERATORS[kind](self, operator, result)
        self.values[result] = value
        if value >= 0 and self.graph.rounding == OPERATOR and self.graph.tensors[result].dtype == "float16":
            self.nodes[value] = replace(self.nodes[value], rounds=True)

    def constant(self, name: str) -> float | None:
        """The number of a constant that is one for all elements; None where it is not known."""
        values = self.graph.tensors[name].values if name else None
        return float(values[0]) if values is not None and len(values) == 1 else None

    def immediate(self, operator: Operator) -> float | None:
        """A second operand that may stand in the instruction."""
        if operator.kind not in {"Add", "Sub", "Mul", "Div", "Pow"} or operator.inputs[1] in self.values:
            return None
        return self.constant(operator.inputs[1])

    def with_immediate(self, operator: Operator, result: str) -> int:
        """An operator with a number; division by it is multiplication by its reciprocal, as frameworks do."""
        amount = self.immediate(operator) or 0.0
        value = self.operand(operator.inputs[0])
        if operator.kind == "Pow":
            return self.node("power", [value], result, (amount,))
        if operator.kind == "Div" and not amount:
            return self.node("divide", [value, self.operand(operator.inputs[1])], result)
        numbers = {
            "Add": (1.0, amount),
            "Sub": (1.0, -amount),
            "Mul": (amount, 0.0),
            "Div": (1 / amount if amount else 0.0, 0.0),
        }
        return self.node("scale", [value], result, numbers[operator.kind])

    def variadic(self, operator: Operator, result: str) -> int:
        """Any number of operands, two at a time."""
        value = self.operand(operator.inputs[0])
        if len(operator.inputs) == 1:
            return self.node("identity", [value], result)
        for name in operator.inputs[1:]:
            value = self.node(VARIADIC[operator.kind], [value, self.operand(name)], result)
        if operator.kind == "Mean":
            value = self.node("scale", [value], result, (1 / len(operator.inputs), 0.0))
        return value

    def write(self, name: str, operator: Operator) -> None:
        """A value that leaves the kernel; a value that is written twice is copied."""
        self.operator = operator.name
        value = self.values[name]
        if value < 0 or value in {result.value for result in self.results}:
            value = self.node("identity", [value], name)
        self.results.append(Result(value, self.place(name), self.layout(name), operator.name))

    def finish(self) -> Pointwise:
        """The program, with operands numbered first."""
        count = len(self.operands)

        def moved(value: int) -> int:
            return -value - 1 if value < 0 else value + count

        read = {value for one in self.nodes for value in one.inputs}
        nodes = tuple(
            replace(one, inputs=tuple(map(moved, one.inputs)), rounds=one.rounds and value in read)
            for value, one in enumerate(self.nodes)
        )
        results = tuple(Result(moved(one.value), one.info, one.layout, one.operator) for one in self.results)
        return Pointwise(tuple(self.operands), nodes, results, SEED)


def clip(program: ElementProgram, operator: Operator, result: str) -> int:
    """Limits from attributes or from operands."""
    value = program.operand(operator.inputs[0])
    for position, name, function in ((1, "min", "maximum"), (2, "max", "minimum")):
        given = operator.inputs[position] if len(operator.inputs) > position else ""
        known = program.constant(given)
        if given and known is None:
            value = program.node(function, [value, program.operand(given)], result)
        elif given or operator.attribute(name, "") != "":
            limit = number(operator, name, 0.0) if known is None else known
            bounds = (limit, float("inf")) if name == "min" else (float("-inf"), limit)
            value = program.node("clip", [value], result, bounds)
    return value if value >= 0 else program.node("identity", [value], result)


def where(program: ElementProgram, operator: Operator, result: str) -> int:
    """A choice."""
    return program.node("where", [program.operand(name) for name in operator.inputs], result)


def cast(program: ElementProgram, operator: Operator, result: str) -> int:
    """A conversion; to a truth value it asks for zero, to a smaller type it happens at the store."""
    source, target = (program.graph.tensors[name].dtype for name in (operator.inputs[0], result))
    function = "identity"
    if target == "bool":
        function = "non-zero"
    elif target in LIMITS and source not in LIMITS:
        function = "truncate"
    return program.node(function, [program.operand(operator.inputs[0])], result)


def dropout(program: ElementProgram, operator: Operator, result: str) -> int:
    """Without training a copy. With it: a random mask by counting, and the kept values scaled up.

    Training is on where the third input is, or may be, true, or by an attribute `training` of our own; the
    ratio is the second input or the attribute `ratio`.
    """
    value = program.operand(operator.inputs[0])
    mask_name = operator.outputs[1] if len(operator.outputs) > 1 else ""
    given = operator.inputs[1] if len(operator.inputs) > 1 else ""
    share = program.constant(given)
    training = bool(operator.attribute("training", 0))
    if len(operator.inputs) > 2 and operator.inputs[2]:
        training = program.constant(operator.inputs[2]) != 0.0
    if not training:
        if mask_name:
            program.values[mask_name] = program.node("one", [value], mask_name)
        return program.node("identity", [value], result)
    by_number = share is not None or not given
    ratio = (number(operator, "ratio", DROPPED_BY_DEFAULT) if share is None else share,) if by_number else ()
    limit = [] if by_number else [program.operand(given)]
    chance = program.node(RANDOM, [], mask_name or result)
    mask = program.node("keep", [chance, *limit], mask_name or result, ratio)
    if mask_name:
        program.values[mask_name] = mask
    return program.node("dropped", [value, mask, *limit], result, ratio)


def quantise(program: ElementProgram, operator: Operator, result: str) -> int:
    """To and from 8 bits, with one scale or one for each index of an axis."""
    shape = program.graph.tensors[operator.inputs[0]].shape
    inputs = [program.operand(operator.inputs[0])]
    for name in operator.inputs[1:3]:
        if name:
            by_axis = program.graph.tensors[name].elements > 1
            inputs.append(program.operand(name, (axis_of(operator, shape),) if by_axis else None))
    if operator.kind == "DequantizeLinear":
        return program.node("restored", inputs, result)
    low, high = LIMITS[program.graph.tensors[result].dtype]
    return program.node("quantised", inputs, result, (float(low), float(high)))


def normalise(program: ElementProgram, operator: Operator, result: str) -> int:
    """Inference batch normalisation as the scale and shift that a framework folds when it loads weights."""
    channels = program.graph.tensors[result].shape[1]
    value = program.operand(operator.inputs[0])
    scale, shift = (program.channel(f"{result}.{what}", channels) for what in ("scale", "shift"))
    return program.node("affine", [value, scale, shift], result)


def biased_gelu(program: ElementProgram, operator: Operator, result: str) -> int:
    """A bias, if there is one, and a Gelu: by tanh for FastGelu."""
    value = program.operand(operator.inputs[0])
    if len(operator.inputs) > 1 and operator.inputs[1]:
        value = program.node("add", [value, program.operand(operator.inputs[1])], result)
    return program.node("gelu", [value], result, (1.0,) if operator.kind == "FastGelu" else ())


OTHER_OPERATORS: dict[str, Callable[[ElementProgram, Operator, str], int]] = {
    "Clip": clip,
    "Where": where,
    "Cast": cast,
    "CastLike": cast,
    "Dropout": dropout,
    "QuantizeLinear": quantise,
    "DequantizeLinear": quantise,
    "BatchNormalization": normalise,
    "FastGelu": biased_gelu,
    "BiasGelu": biased_gelu,
}

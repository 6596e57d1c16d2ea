"""Which operators of a graph are element-wise, and the element functions that each becomes.

Values are computed in single precision, so 64-bit integers and double precision are refused, and 32-bit
integers are only converted. ONNX's own names, and those of its runtime's contrib set that models use (
QuickGelu, FastGelu, BiasGelu).
"""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.workload.builders.cells import COMPUTED
from simulator.workload.graph import Graph, Operator

SELU_ALPHA = 1.6732632423543772
SELU_GAMMA = 1.0507009873554805
CONVERSIONS = frozenset({"Cast", "CastLike", "DequantizeLinear"})
VARIADIC = {"Sum": "add", "Max": "maximum", "Min": "minimum", "Mean": "add"}
BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "Pow": "power",
    "PRelu": "parametric relu",
    "Equal": "equal",
    "Less": "less",
    "Greater": "greater",
    "LessOrEqual": "not greater",
    "GreaterOrEqual": "not less",
    "And": "multiply",
    "Or": "maximum",
}
CHANNEL_INPUTS = 5


@dataclass(frozen=True, slots=True)
class Unary:
    """A function of one operand with numbers from the operator's attributes."""

    function: str
    numbers: Callable[[Operator], tuple[float, ...]] = lambda _: ()


def number(operator: Operator, name: str, default: float) -> float:
    """An attribute as a float."""
    value = operator.attribute(name, default)
    return float(value) if isinstance(value, int | float) else default


def is_approximate(operator: Operator) -> tuple[float, ...]:
    """Whether a Gelu is the one by tanh."""
    return (1.0,) if operator.attribute("approximate", "none") == "tanh" else ()


UNARY: dict[str, Unary] = {
    "Abs": Unary("absolute"),
    "Neg": Unary("negative"),
    "Exp": Unary("exponential"),
    "Log": Unary("logarithm"),
    "Sqrt": Unary("root"),
    "Reciprocal": Unary("reciprocal"),
    "Sigmoid": Unary("sigmoid"),
    "Tanh": Unary("tanh"),
    "Erf": Unary("erf"),
    "Relu": Unary("relu"),
    "Softplus": Unary("softplus"),
    "Softsign": Unary("softsign"),
    "Mish": Unary("mish"),
    "HardSwish": Unary("hard swish"),
    "Sign": Unary("sign"),
    "Floor": Unary("floor"),
    "Ceil": Unary("ceiling"),
    "Round": Unary("round"),
    "Identity": Unary("identity"),
    "Not": Unary("not"),
    "Gelu": Unary("gelu", is_approximate),
    "QuickGelu": Unary("silu", lambda one: (number(one, "alpha", 1.702),)),
    "Swish": Unary("silu", lambda one: (number(one, "alpha", 1.0),)),
    "LeakyRelu": Unary("leaky relu", lambda one: (number(one, "alpha", 0.01),)),
    "Elu": Unary("elu", lambda one: (number(one, "alpha", 1.0), 1.0, 1.0)),
    "Celu": Unary("elu", lambda one: (number(one, "alpha", 1.0), number(one, "alpha", 1.0), 1.0)),
    "Selu": Unary(
        "elu",
        lambda one: (
            number(one, "alpha", SELU_ALPHA) * number(one, "gamma", SELU_GAMMA),
            1.0,
            number(one, "gamma", SELU_GAMMA),
        ),
    ),
    "HardSigmoid": Unary("hard sigmoid", lambda one: (number(one, "alpha", 0.2), number(one, "beta", 0.5))),
}
OTHERS = frozenset(
    {
        "Clip",
        "Where",
        "Cast",
        "CastLike",
        "Dropout",
        "QuantizeLinear",
        "DequantizeLinear",
        "BatchNormalization",
        "FastGelu",
        "BiasGelu",
    }
)
ELEMENT_WISE = frozenset(UNARY) | frozenset(BINARY) | frozenset(VARIADIC) | OTHERS


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator is no element-wise one; empty where it is."""
    kind = operator.kind
    outputs = [name for name in operator.outputs if name]
    if kind not in ELEMENT_WISE:
        return f"{kind} has no kernel program"
    result = graph.tensors[outputs[0]]
    most = 2 if kind == "Dropout" else 1
    if len(outputs) > most and kind != "BatchNormalization":
        return f"{kind} with {len(outputs)} outputs has no kernel program"
    if not result.elements:
        return f"{kind} of an empty tensor has no kernel program"
    for name in (*operator.inputs, *outputs):
        dtype = graph.tensors[name].dtype if name else "float32"
        if dtype not in COMPUTED or (dtype == "int32" and kind not in CONVERSIONS):
            return f"{kind} of {dtype} has no kernel program"
    if kind == "BatchNormalization":
        return refused_normalisation(graph, operator)
    if kind in BINARY and len(operator.inputs) != 2:
        return f"{kind} of {len(operator.inputs)} operands has no kernel program"
    if kind in {"QuantizeLinear", "DequantizeLinear"}:
        return refused_quantisation(graph, operator)
    return ""


def refused_normalisation(graph: Graph, operator: Operator) -> str:
    """Why a BatchNormalization is no scale and shift by channel."""
    kind = operator.kind
    outputs = [name for name in operator.outputs if name]
    if len(operator.inputs) != CHANNEL_INPUTS or operator.attribute("training_mode", 0) or len(outputs) > 1:
        return "BatchNormalization in training has no element-wise program"
    if len(graph.tensors[outputs[0]].shape) < 2:
        return f"{kind} without channels has no kernel program"
    produced = graph.producers()
    if any(name in produced for name in operator.inputs[1:]):
        return f"{kind} with computed parameters has no kernel program"
    return ""


def refused_quantisation(graph: Graph, operator: Operator) -> str:
    """Why a quantisation is neither by tensor nor by axis."""
    shape = graph.tensors[operator.inputs[0]].shape
    scale = graph.tensors[operator.inputs[1]].shape
    if operator.attribute("block_size", 0):
        return f"{operator.kind} in blocks has no kernel program"
    if scale and scale != (1,) and (len(scale) != 1 or scale[0] != shape[axis_of(operator, shape)]):
        return f"{operator.kind} with scales of shape {list(scale)} has no kernel program"
    codes = operator.outputs[0] if operator.kind == "QuantizeLinear" else operator.inputs[0]
    if operator.kind == "QuantizeLinear" and graph.tensors[codes].dtype not in {"int8", "uint8"}:
        return f"QuantizeLinear to {graph.tensors[codes].dtype} has no kernel program"
    return ""


def axis_of(operator: Operator, shape: tuple[int, ...]) -> int:
    """The axis of a quantisation by axis."""
    axis = int(number(operator, "axis", 1))
    return axis % len(shape) if shape else 0

"""Which operators have a kernel program and of which sort: element-wise, convolution, or neither, with the
reason.

Element-wise means one output of the shape of one chained input, computed by position (and by channel
parameters for inference batch normalisation). Broadcasting beyond channel parameters counts as neither.
"""

from hwmodels.errors import InputError
from simulator.workload.builders.geometry import Convolution
from simulator.workload.graph import ITEM_BYTES, Graph, Operator
from simulator.workload.layout import DTYPES, padded_channels

ADDITIONS = frozenset({"Add", "Sum"})
CHANNEL_INPUTS = 5


def chained_input(graph: Graph, operator: Operator, preferred: str | None = None) -> str | None:
    """The input that an element-wise operator is computed from (`preferred` where that is possible), or None
    where the operator is not element-wise.
    """
    if refused_element_wise(graph, operator):
        return None
    if operator.kind in ADDITIONS and preferred in operator.inputs:
        return preferred
    return operator.inputs[0]


def refused_element_wise(graph: Graph, operator: Operator) -> str:
    """Why an operator is no element-wise one; empty where it is."""
    outputs = [name for name in operator.outputs if name]
    if operator.kind not in ADDITIONS | {"Relu", "BatchNormalization"}:
        return f"{operator.kind} has no kernel program"
    if len(outputs) != 1:
        return f"{operator.kind} with {len(outputs)} outputs has no kernel program"
    result = graph.tensors[outputs[0]]
    if not result.elements:
        return f"{operator.kind} of an empty tensor has no kernel program"
    if result.dtype not in DTYPES:
        return f"{operator.kind} of {result.dtype} has no kernel program"
    if operator.kind == "BatchNormalization":
        if len(operator.inputs) != CHANNEL_INPUTS or operator.attribute("training_mode", 0):
            return "BatchNormalization in training has no kernel program"
        if len(result.shape) < 3:
            return "BatchNormalization without channels has no kernel program"
        produced = graph.producers()
        if any(name in produced for name in operator.inputs[1:]):
            return "BatchNormalization with computed parameters has no kernel program"
        return ""
    if operator.kind in ADDITIONS and len(operator.inputs) < 2:
        return f"{operator.kind} of one operand has no kernel program"
    if any(operator.inputs.count(name) > 2 for name in operator.inputs):
        return f"{operator.kind} of one value three times has no kernel program"
    if any(graph.tensors[name].shape != result.shape for name in operator.inputs):
        return f"{operator.kind} that broadcasts has no kernel program"
    return ""


def is_chain(graph: Graph, operators: tuple[Operator, ...]) -> bool:
    """Whether operators are a chain over one layout that an epilogue could carry: each reads the one before,
    and nobody else does.
    """
    value = chained_input(graph, operators[0])
    consumers = graph.consumers()
    for index, operator in enumerate(operators):
        if value is None or chained_input(graph, operator, value) != value:
            return False
        value = next(name for name in operator.outputs if name)
        alone = len(consumers.get(value, [])) == 1 and graph.tensors[value].kind != "output"
        if index < len(operators) - 1 and not alone:
            return False
    return True


def convolution_of(graph: Graph, operator: Operator) -> tuple[Convolution | None, str]:
    """(shape, "") of a convolution that has a kernel program, else (None, the reason)."""
    if operator.kind != "Conv":
        return None, f"{operator.kind} has no kernel program"
    pixels, filters = (graph.tensors[name] for name in operator.inputs[:2])
    if pixels.dtype not in DTYPES:
        return None, f"Conv of {pixels.dtype} has no kernel program (float16 and float32 have)"
    if len(pixels.shape) != 4:
        return None, f"Conv in {len(pixels.shape) - 2} dimensions has no kernel program"
    groups = operator.attribute("group", 1)
    if not isinstance(groups, int) or groups < 1:
        raise InputError(operator.name, f"{groups!r} groups", "give a whole number from 1 on")
    if groups > 1 and filters.shape[0] != padded_channels(filters.shape[0]):
        return None, f"grouped Conv of {filters.shape[0]} filters has no kernel program (multiples of 8 have)"
    dilations = operator.integers("dilations", (1, 1))
    if operator.inputs[1] in graph.producers():
        return None, "Conv with computed filters has no kernel program"
    if not pixels.elements or not filters.elements:
        return None, "Conv of an empty tensor has no kernel program"
    if filters.shape[1] * groups != pixels.shape[1]:
        problem = f"filters of {filters.shape[1]} channels on an input of {pixels.shape[1]}"
        raise InputError(operator.name, problem, "give both the same channels")
    window = (filters.shape[2], filters.shape[3])
    strides = operator.integers("strides", (1, 1))
    reach = (dilations[0] * (window[0] - 1) + 1, dilations[1] * (window[1] - 1) + 1)
    batch, channels, height, width = pixels.shape
    pads = pads_of(operator, (height, width), reach, (strides[0], strides[1]))
    shape = Convolution(
        batch,
        channels,
        height,
        width,
        filters.shape[0],
        window,
        (strides[0], strides[1]),
        pads,
        dilations[0],
        ITEM_BYTES[pixels.dtype],
        groups,
        dilations[1],
    )
    result = next(graph.tensors[name].shape for name in operator.outputs if name)
    if result != (batch, shape.filters, shape.out_height, shape.out_width):
        right = [batch, shape.filters, shape.out_height, shape.out_width]
        raise InputError(
            operator.name, f"output shape {list(result)} is not that of the Conv", f"it is {right}"
        )
    return shape, ""


def pads_of(
    operator: Operator, image: tuple[int, int], reach: tuple[int, int], strides: tuple[int, int]
) -> tuple[int, int, int, int]:
    """(top, left, bottom, right), whatever way the operator states them."""
    rule = str(operator.attribute("auto_pad", "NOTSET"))
    if rule == "NOTSET":
        top, left, bottom, right = operator.integers("pads", (0, 0, 0, 0))
        return top, left, bottom, right
    if rule == "VALID":
        return 0, 0, 0, 0
    totals = [
        max(0, (-(-size // stride) - 1) * stride + span - size)
        for size, stride, span in zip(image, strides, reach, strict=True)
    ]
    small = [total // 2 for total in totals]
    large = [total - half for total, half in zip(totals, small, strict=True)]
    first, second = (small, large) if rule == "SAME_UPPER" else (large, small)
    return first[0], first[1], second[0], second[1]

"""Where the elements of a result come from, operator by operator: transpose, concat, slice, split, pad,
expand, tile, nearest upsampling, depth to space and back.

Each row of SOURCES says why an operator is refused and, if it is not, digits and strides. Starts, pads and
axes must be constants; negative steps, reflected and repeated edges are not built.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.copying import Condition
from simulator.workload.graph import Graph, Operator
from simulator.workload.layout import Layout, stored_dtype
from simulator.workload.rearrange import Digit, Place, Source, steps_of, whole

LayoutOf = Callable[[str], Layout]
FLOOR_MODES = frozenset({("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")})


@dataclass(frozen=True, slots=True)
class Moved:
    """Digits of a result, its sources, and the word where there is none."""

    digits: list[Digit]
    sources: list[Source]
    fill: int = 0

    @classmethod
    def of(cls, digits: list[Digit], info: TensorInfo, strides: tuple[int, ...], offset: int = 0) -> "Moved":
        """From one tensor that covers everything."""
        return cls(digits, [Source(info, strides, offset)])


@dataclass(frozen=True, slots=True)
class Rule:
    """One operator kind."""

    refused: Callable[[Graph, Operator], str]
    moved: Callable[["Moving"], Moved]


@dataclass(frozen=True, slots=True)
class Moving:
    """One result of an operator in its graph, and how tensors lie."""

    graph: Graph
    operator: Operator
    result: str
    layout: LayoutOf
    place: Place

    @property
    def source(self) -> Layout:
        """The layout of the first input."""
        return self.layout(self.operator.inputs[0])

    @property
    def target(self) -> Layout:
        """The layout of the result."""
        return self.layout(self.result)

    @property
    def info(self) -> TensorInfo:
        """Where the first input lies."""
        return self.place(self.operator.inputs[0])


def constant_of(graph: Graph, operator: Operator, key: str, place: int) -> tuple[int, ...] | None:
    """A list of integers from an attribute or a constant input; () where it is left out, None where it is
    computed.
    """
    if any(name == key for name, _ in operator.attributes):
        value = operator.attribute(key, ())
        return tuple(int(one) for one in (value if isinstance(value, tuple) else (value,)))
    if place >= len(operator.inputs) or not operator.inputs[place]:
        return ()
    values = graph.tensors[operator.inputs[place]].values
    return None if values is None else tuple(int(one) for one in values)


def accepted(_: Graph, __: Operator) -> str:
    """Never refused."""
    return ""


def same_rank(graph: Graph, operator: Operator) -> str:
    """A result of as many dimensions as the input."""
    ranks = [len(graph.tensors[name].shape) for name in (operator.inputs[0], operator.outputs[0])]
    return "" if ranks[0] == ranks[1] else f"{operator.kind} that changes the rank has no kernel program"


def axis_of(graph: Graph, operator: Operator, default: int = 0) -> int:
    """The attribute `axis`, counted from the front."""
    axis = int(np.asarray(operator.attribute("axis", default)))
    return axis % len(graph.tensors[operator.outputs[0]].shape)


def transposed(move: Moving) -> Moved:
    """Dimensions in another order."""
    source = move.source
    order = move.operator.integers("perm", tuple(reversed(range(len(source.shape)))))
    strides = steps_of(source)
    return Moved.of(whole(move.target), move.info, tuple(strides[axis] for axis in order))


def concatenated(move: Moving) -> Moved:
    """Several tensors behind one another along an axis."""
    axis, first, sources = axis_of(move.graph, move.operator), 0, []
    for name in move.operator.inputs:
        source = move.layout(name)
        strides, extent = tuple(steps_of(source)), source.shape[axis]
        if extent:
            sources.append(
                Source(move.place(name), strides, -first * strides[axis], ((axis, first, extent),))
            )
        first += extent
    return Moved(whole(move.target), sources)


def no_slice(graph: Graph, operator: Operator) -> str:
    """Slices need constants and positive steps."""
    places = (("starts", 1), ("axes", 3), ("steps", 4))
    starts, axes, steps = (constant_of(graph, operator, key, place) for key, place in places)
    if starts is None or axes is None or steps is None:
        return "Slice at computed places has no kernel program"
    return "Slice backwards has no kernel program" if any(step < 0 for step in steps) else ""


def sliced(move: Moving) -> Moved:
    """Every step-th element from a start, along some axes; the result's shape says where it ends."""
    source = move.source
    starts = constant_of(move.graph, move.operator, "starts", 1) or ()
    axes = constant_of(move.graph, move.operator, "axes", 3) or tuple(range(len(starts)))
    steps = constant_of(move.graph, move.operator, "steps", 4) or (1,) * len(starts)
    strides = steps_of(source)
    offset = 0
    for axis, start, step in zip(axes, starts, steps, strict=True):
        extent, at = source.shape[axis], axis % len(source.shape)
        offset += min(start + extent if start < 0 else start, extent - 1) * strides[at]
        strides[at] *= step
    return Moved.of(whole(move.target), move.info, tuple(strides), offset)


def split(move: Moving) -> Moved:
    """One of the parts along an axis."""
    axis = axis_of(move.graph, move.operator)
    before = move.operator.outputs[: move.operator.outputs.index(move.result)]
    if "" in before:
        raise InputError(move.operator.name, "a part of the Split is left out", "name every output")
    start = sum(move.graph.tensors[name].shape[axis] for name in before)
    strides = steps_of(move.source)
    digits = whole(move.target)
    return Moved.of(digits, move.info, tuple(strides), start * strides[axis])


def no_pad(graph: Graph, operator: Operator) -> str:
    """Pads need constants, the constant mode, and every axis."""
    pads = constant_of(graph, operator, "pads", 1)
    if operator.attribute("mode", "constant") != "constant":
        return f"Pad by {operator.attribute('mode', 'constant')} has no kernel program"
    fill = operator.inputs[2] if len(operator.inputs) > 2 else ""
    axes = operator.inputs[3] if len(operator.inputs) > 3 else ""
    if pads is None or (fill and graph.tensors[fill].values is None) or axes:
        return "Pad by computed numbers has no kernel program"
    return ""


def padded(move: Moving) -> Moved:
    """A tensor inside a larger one; negative pads cut."""
    source = move.source
    pads = constant_of(move.graph, move.operator, "pads", 1) or ()
    strides = tuple(steps_of(source))
    before = pads[: len(source.shape)]
    offset = -sum(gap * stride for gap, stride in zip(before, strides, strict=True))
    ranges = tuple((axis, before[axis], extent) for axis, extent in enumerate(source.shape))
    value = float(np.asarray(move.operator.attribute("value", 0.0)))
    if len(move.operator.inputs) > 2 and move.operator.inputs[2]:
        value = (move.graph.tensors[move.operator.inputs[2]].values or (0.0,))[0]
    return Moved(
        whole(move.target),
        [Source(move.info, strides, offset, ranges)],
        word_of(value, source.dtype),
    )


def word_of(value: float, dtype: str) -> int:
    """The 32 bits that repeat a number through memory."""
    one = np.full(4, value, stored_dtype(dtype))
    return int(one.view(np.uint32)[0])


def no_pad_word(graph: Graph, operator: Operator) -> str:
    """A fill of eight bytes must be one word twice."""
    reason = no_pad(graph, operator)
    wide = graph.tensors[operator.outputs[0]].dtype == "int64"
    return reason or ("Pad of int64 has no kernel program" if wide else "")


def expanded(move: Moving) -> Moved:
    """Repeats along dimensions: of one element (Expand), or of the whole extent (Tile)."""
    source, target = move.source, move.target
    strides = steps_of(source)
    missing = len(target.shape) - len(source.shape)
    digits, steps = [], []
    for axis, extent in enumerate(target.shape):
        own = 1 if axis < missing else source.shape[axis - missing]
        if own < extent:
            digits.append(Digit(axis, extent // own))
            steps.append(0)
        digits.append(Digit(axis, own))
        steps.append(0 if own == 1 else strides[axis - missing])
    return Moved.of(digits, move.info, tuple(steps))


def exact_scales(graph: Graph, operator: Operator) -> bool:
    """Whether the factors are those of the shapes: sizes were given, or scales that divide out."""
    if operator.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        return False
    if len(operator.inputs) > 3 and operator.inputs[3]:
        return True
    at = 2 if len(operator.inputs) > 2 else 1
    scales = operator.attribute("scales", ())
    if at < len(operator.inputs) and operator.inputs[at]:
        scales = graph.tensors[operator.inputs[at]].values or ()
    source, result = (graph.tensors[name].shape for name in (operator.inputs[0], operator.outputs[0]))
    if not isinstance(scales, tuple) or len(scales) != len(source):
        return False
    return all(
        float(np.asarray(s)) * few == many for s, few, many in zip(scales, source, result, strict=True)
    )


def no_nearest(graph: Graph, operator: Operator) -> str:
    """Nearest resampling by whole factors, the result's position divided by the factor."""
    if operator.attribute("mode", "nearest") != "nearest":
        return f"{operator.kind} by {operator.attribute('mode', '')} has no kernel program"
    source, result = (graph.tensors[name].shape for name in (operator.inputs[0], operator.outputs[0]))
    if any(many % few for few, many in zip(source, result, strict=True)) or not exact_scales(graph, operator):
        return f"{operator.kind} by broken or computed factors has no kernel program"
    rule = (
        operator.attribute("coordinate_transformation_mode", "half_pixel"),
        operator.attribute("nearest_mode", "round_prefer_floor"),
    )
    if operator.kind == "Resize" and rule not in FLOOR_MODES:
        return f"Resize to the nearest by {rule[0]} and {rule[1]} has no kernel program"
    return ""


def nearest(move: Moving) -> Moved:
    """Each element as often as the factor says."""
    source, target = move.source, move.target
    strides = steps_of(source)
    digits, steps = [], []
    for axis, extent in enumerate(target.shape):
        digits += [Digit(axis, source.shape[axis]), Digit(axis, extent // source.shape[axis])]
        steps += [strides[axis], 0]
    return Moved.of(digits, move.info, tuple(steps))


def to_space(move: Moving) -> Moved:
    """Channels into blocks of pixels: block position outside the channels (DCR) or inside (CRD)."""
    source, target = move.source, move.target
    block = int(np.asarray(move.operator.attribute("blocksize", 1)))
    image, channel, row, column = steps_of(source)
    outer = move.operator.attribute("mode", "DCR") == "DCR"
    depth = target.shape[1]
    digits = [Digit(0, source.shape[0]), Digit(1, depth)]
    steps = [image, channel if outer else channel * block * block]
    for axis, stride, place_step in ((2, row, block), (3, column, 1)):
        digits += [Digit(axis, source.shape[axis]), Digit(axis, block)]
        steps += [stride, channel * place_step * (depth if outer else 1)]
    return Moved.of(digits, move.info, tuple(steps))


def to_depth(move: Moving) -> Moved:
    """Blocks of pixels into channels, block position outside the channels."""
    source, target = move.source, move.target
    block = int(np.asarray(move.operator.attribute("blocksize", 1)))
    image, channel, row, column = steps_of(source)
    digits = [Digit(0, source.shape[0]), Digit(1, block), Digit(1, block), Digit(1, source.shape[1])]
    digits += [Digit(2, target.shape[2]), Digit(3, target.shape[3])]
    steps = (image, row, column, channel, row * block, column * block)
    return Moved.of(digits, move.info, steps)


def im2col(move: Moving) -> Moved:
    """Each row of the result is the window of one output pixel: (n, p, q) by (r, s, c)."""
    source = move.source
    high, wide = move.operator.integers("kernel_shape", (1, 1))
    down, right = move.operator.integers("strides", (1, 1))
    top, left, bottom, end = move.operator.integers("pads", (0, 0, 0, 0))
    batch, channels, height, width = source.shape
    rows, columns = (height + top + bottom - high) // down + 1, (width + left + end - wide) // right + 1
    image, channel, row, column = steps_of(source)
    digits = [Digit(0, batch), Digit(0, rows), Digit(0, columns)]
    digits += [Digit(1, high), Digit(1, wide), Digit(1, channels)]
    steps = (image, down * row, right * column, row, column, channel)
    inside = (
        Condition((0, down, 0, 1, 0, 0), -top, height),
        Condition((0, 0, right, 0, 1, 0), -left, width),
    )
    taken = Source(move.info, steps, -(top * row + left * column), (), inside)
    return Moved(digits, [taken])


def no_im2col(graph: Graph, operator: Operator) -> str:
    """Images only, and a result of the windows' size."""
    source, result = (graph.tensors[name].shape for name in (operator.inputs[0], operator.outputs[0]))
    if len(source) != 4 or len(result) != 2:
        return "Im2Col of other than images into a matrix has no kernel program"
    columns = prod(operator.integers("kernel_shape", (1, 1))) * source[1]
    return "" if result[1] == columns else f"Im2Col into {result[1]} columns instead of {columns}"


SOURCES = {
    "Transpose": Rule(same_rank, transposed),
    "Concat": Rule(accepted, concatenated),
    "Slice": Rule(no_slice, sliced),
    "Split": Rule(accepted, split),
    "Pad": Rule(no_pad_word, padded),
    "Expand": Rule(accepted, expanded),
    "Tile": Rule(same_rank, expanded),
    "Upsample": Rule(no_nearest, nearest),
    "Resize": Rule(no_nearest, nearest),
    "DepthToSpace": Rule(same_rank, to_space),
    "SpaceToDepth": Rule(same_rank, to_depth),
    "Im2Col": Rule(no_im2col, im2col),
}

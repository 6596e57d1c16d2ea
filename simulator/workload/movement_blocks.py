"""Movement that repeats elements or takes dimensions apart: expand, tile, nearest upsampling, depth to space
and back, im2col.

Nearest upsampling is built for whole factors, where the position is divided by the factor.
"""

from math import prod

import numpy as np

from simulator.workload.builders.copying import Condition
from simulator.workload.graph import Graph, Operator
from simulator.workload.movement_rules import Moved, Moving
from simulator.workload.rearrange import Digit, Source, steps_of

FLOOR_MODES = frozenset({("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")})


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
    """Blocks of pixels into channels: block position outside the channels (DCR) or inside (CRD)."""
    source, target = move.source, move.target
    block = int(np.asarray(move.operator.attribute("blocksize", 1)))
    image, channel, row, column = steps_of(source)
    places = [(Digit(1, block), row), (Digit(1, block), column)]
    channels = [(Digit(1, source.shape[1]), channel)]
    inner = channels + places if move.operator.attribute("mode", "DCR") == "CRD" else places + channels
    outer = [(Digit(2, target.shape[2]), row * block), (Digit(3, target.shape[3]), column * block)]
    walk = [(Digit(0, source.shape[0]), image), *inner, *outer]
    return Moved.of([digit for digit, _ in walk], move.info, tuple(step for _, step in walk))


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

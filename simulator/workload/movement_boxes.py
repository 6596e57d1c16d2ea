"""Movement of whole boxes of a tensor: transpose, concat, slice, split, pad.

Starts, pads and axes must be constants; negative steps, reflected and repeated edges are not built.
"""

import numpy as np

from hwmodels.errors import InputError
from simulator.workload.graph import Graph, Operator
from simulator.workload.layout import stored_dtype
from simulator.workload.movement_rules import Moved, Moving, axis_of, constant_of
from simulator.workload.rearrange import Source, steps_of, whole


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
    """Pads need constants and the constant mode."""
    pads, axes = (constant_of(graph, operator, key, at) for key, at in (("pads", 1), ("axes", 3)))
    if operator.attribute("mode", "constant") != "constant":
        return f"Pad by {operator.attribute('mode', 'constant')} has no kernel program"
    fill = operator.inputs[2] if len(operator.inputs) > 2 else ""
    if pads is None or axes is None or (fill and graph.tensors[fill].values is None):
        return "Pad by computed numbers has no kernel program"
    return ""


def padded(move: Moving) -> Moved:
    """A tensor inside a larger one; negative pads cut."""
    source = move.source
    pads = constant_of(move.graph, move.operator, "pads", 1) or ()
    strides = tuple(steps_of(source))
    axes = constant_of(move.graph, move.operator, "axes", 3) or tuple(range(len(source.shape)))
    before = [0] * len(source.shape)
    for axis, gap in zip(axes, pads, strict=False):  # the second half of the pads follows from the shapes
        before[axis] = gap
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

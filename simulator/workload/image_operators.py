"""Operators on images that look at a window or at neighbours: pooling, linear resampling, local
response normalisation. Which of them have a kernel program, why not, and the programs.

All of them want images channels last, in half or single precision. A one-dimensional window is a row of
height 1.
"""

from typing import TYPE_CHECKING

import numpy as np

from simulator.workload.builders.bilinear import MODES, bilinear_kernel
from simulator.workload.builders.pixels import Pixels
from simulator.workload.builders.pooling import Pool, pooling_kernel
from simulator.workload.builders.response import Response, response_kernel
from simulator.workload.graph import ITEM_BYTES, Graph, Operator
from simulator.workload.ir import Kernel
from simulator.workload.layout import DTYPES, Layout, padded_channels
from simulator.workload.legality import pads_of
from simulator.workload.movement_blocks import exact_scales, no_nearest

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

POOLS = frozenset({"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"})
RESAMPLING = frozenset({"Resize", "Upsample"})
KINDS = POOLS | RESAMPLING | {"LRN"}
WINDOW_RANKS = (3, 4)
LINEAR = frozenset({"linear", "bilinear"})


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator has no program here; empty where it has one."""
    outputs = [name for name in operator.outputs if name]
    image, result = graph.tensors[operator.inputs[0]], graph.tensors[outputs[0]]
    if len(outputs) > 1:
        return f"{operator.kind} with indices has no kernel program"
    if image.dtype not in DTYPES or not result.elements:
        return f"{operator.kind} of {image.dtype} or of an empty tensor has no kernel program"
    if len(image.shape) not in WINDOW_RANKS:
        return f"{operator.kind} in {len(image.shape) - 2} dimensions has no kernel program"
    if operator.kind in POOLS:
        return refused_pool(operator)
    if operator.kind == "LRN":
        return refused_response(operator, image.shape[1], ITEM_BYTES[image.dtype])
    return refused_resampling(graph, operator)


def refused_pool(operator: Operator) -> str:
    """Windows that are rounded up and count padding have divisors of their own."""
    if operator.attribute("ceil_mode", 0) and operator.attribute("count_include_pad", 0):
        return f"{operator.kind} that counts padding of windows rounded up has no kernel program"
    if operator.attribute("storage_order", 0):
        return f"{operator.kind} in column order has no kernel program"
    return ""


def refused_response(operator: Operator, channels: int, item_bytes: int) -> str:
    """The window must fit beside a vector, and padding must not stand between channels."""
    lanes = min(16 // item_bytes, padded_channels(channels))
    if response_of(operator).after > lanes:
        return f"LRN over {response_of(operator).size} channels has no kernel program"
    return "LRN of padded channels has no kernel program" if channels != padded_channels(channels) else ""


def refused_resampling(graph: Graph, operator: Operator) -> str:
    """Linear in rows and columns only, by a rule of coordinates that is known."""
    mode = str(operator.attribute("mode", "nearest"))
    source, result = (graph.tensors[name].shape for name in (operator.inputs[0], operator.outputs[0]))
    if mode == "nearest":
        return no_nearest(graph, operator)
    if mode not in LINEAR:
        return f"{operator.kind} by {mode} has no kernel program"
    if source[:2] != result[:2] or len(source) != max(WINDOW_RANKS):
        return f"{operator.kind} of other than rows and columns has no kernel program"
    if coordinates_of(operator) not in MODES or operator.attribute("antialias", 0):
        return f"{operator.kind} by {coordinates_of(operator)} or with a filter has no kernel program"
    if not exact_scales(graph, operator):
        return f"{operator.kind} by broken or computed factors has no kernel program"
    return ""


def coordinates_of(operator: Operator) -> str:
    """The coordinate rule; Upsample and the first Resize divide without a shift."""
    plain = operator.kind == "Upsample" or (operator.kind == "Resize" and len(operator.inputs) == 2)
    default = "asymmetric" if plain else "half_pixel"
    return str(operator.attribute("coordinate_transformation_mode", default))


def response_of(operator: Operator) -> Response:
    """The parameters of a local response normalisation."""
    alpha, beta, bias = (
        float(np.asarray(operator.attribute(key, value)))
        for key, value in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    return Response(int(np.asarray(operator.attribute("size", 1))), alpha, beta, bias)


def pixels_of(layout: Layout) -> Pixels:
    """The stored image of a tensor of three or four dimensions."""
    batch, _, *extents = layout.shape
    height, width = extents if len(extents) == 2 else (1, extents[0])
    return Pixels(batch, height, width, layout.channels, ITEM_BYTES[layout.dtype])


def pool_of(operator: Operator, image: Layout, result: Layout) -> Pool:
    """The pooling of an operator; its output shape is the graph's."""
    source, target = pixels_of(image), pixels_of(result)
    maximum = operator.kind.endswith("MaxPool")
    if operator.kind.startswith("Global"):
        return Pool(source, 1, 1, (source.height, source.width), maximum=maximum)
    window = plane(operator.integers("kernel_shape", ()), 1)
    strides = plane(operator.integers("strides", ()), 1)
    dilations = plane(operator.integers("dilations", ()), 1)
    reach = (dilations[0] * (window[0] - 1) + 1, dilations[1] * (window[1] - 1) + 1)
    if len(image.shape) == max(WINDOW_RANKS) or operator.attribute("auto_pad", "NOTSET") != "NOTSET":
        top, left, _, _ = pads_of(operator, (source.height, source.width), reach, strides)
    else:
        top, left = 0, operator.integers("pads", (0, 0))[0]
    counts = bool(operator.attribute("count_include_pad", 0))
    return Pool(source, target.height, target.width, window, strides, (top, left), dilations, maximum, counts)


def plane(values: tuple[int, ...], default: int) -> tuple[int, int]:
    """Numbers for rows and columns; one number alone is for columns."""
    if len(values) == 2:
        return values[0], values[1]
    return (1, values[0]) if values else (default, default)


def carries_chain(graph: Graph, operator: Operator) -> bool:
    """Whether an operator's program takes element-wise operators behind it."""
    nearest = operator.kind in RESAMPLING and operator.attribute("mode", "nearest") == "nearest"
    return operator.kind in KINDS and not nearest and not refused(graph, operator)


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """The program of one operator with the element-wise chain behind it."""
    operator = operators[0]
    source = operator.inputs[0]
    target = next(output for output in operator.outputs if output)
    image, result = maker.layout(source), maker.layout(target)
    places = maker.place(source), maker.place(target)
    stages = maker.stages(operators[1:], target)
    if operator.kind in POOLS:
        return [pooling_kernel(name, operator.name, pool_of(operator, image, result), *places, stages)]
    if operator.kind == "LRN":
        return [
            response_kernel(name, operator.name, response_of(operator), pixels_of(image), *places, stages)
        ]
    mode = coordinates_of(operator)
    return [bilinear_kernel(name, operator.name, pixels_of(image), pixels_of(result), mode, *places, stages)]

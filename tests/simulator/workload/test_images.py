"""Pooling, resampling and local response normalisation, run on values against ONNX's reference evaluator;
bytes and arithmetic against closed forms.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from simulator.trace.info import info
from simulator.workload.builders.bilinear import MODES, bilinear_kernel
from simulator.workload.builders.pixels import Pixels
from simulator.workload.builders.pooling import Pool, pooling_kernel
from simulator.workload.builders.response import Response, response_kernel
from simulator.workload.layout import padded_channels
from tests.simulator.workload.movement_support import placed, run, traffic

SIZES = {"float16": 2, "float32": 4}


def reference(kind, x, *more, opset=19, **attributes):
    """What ONNX says about one operator, in single precision."""
    names = [f"i{index}" for index in range(1 + len(more))]
    values = [x.astype(np.float32), *more]
    feed = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    used = [name if name in feed else "" for name in names]
    graph = helper.make_graph(
        [helper.make_node(kind, used, ["y"], **attributes)],
        "one",
        [
            helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in feed.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, feed)[0]


def pooled(x, *, maximum, counts_padding=False, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0)):
    """Pooling by its definition: the reference evaluator refuses some windows that ONNX allows."""
    gaps = ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
    wide = np.pad(x.astype(np.float32), gaps, constant_values=0 if counts_padding else np.nan)
    views = np.lib.stride_tricks.sliding_window_view(wide, kernel_shape, (2, 3))
    views = views[:, :, :: strides[0], :: strides[1]]
    return (np.nanmax if maximum else np.nanmean)(views, axis=(-2, -1))


def pixels(shape, dtype):
    batch, channels, height, width = shape
    return Pixels(batch, height, width, padded_channels(channels), SIZES[dtype])


def close(got, truth, dtype):
    tolerance = 3e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got.astype(np.float32), truth, rtol=tolerance, atol=tolerance)


POOLS = [
    ((2, 16, 9, 11), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 8, 7), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ((1, 24, 7, 7), {"kernel_shape": [7, 7]}),
    ((1, 8, 6, 6), {"kernel_shape": [7, 7], "pads": [0, 0, 1, 1]}),
    ((1, 20, 10, 13), {"kernel_shape": [3, 5], "strides": [1, 2], "pads": [0, 2, 2, 1]}),
    ((1, 8, 13, 13), {"kernel_shape": [13, 13]}),
    ((1, 8, 9, 12), {"kernel_shape": [5, 11], "pads": [2, 5, 2, 5]}),
]


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "padding counts"])
@pytest.mark.parametrize(("shape", "attributes"), POOLS)
def test_pooling(shape, attributes, kind, dtype):
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    more = {"count_include_pad": 1} if kind == "padding counts" else {}
    operator = "MaxPool" if kind == "MaxPool" else "AveragePool"
    truth = pooled(x, maximum=operator == "MaxPool", counts_padding=bool(more), **attributes)
    pool = Pool(
        pixels(shape, dtype),
        *truth.shape[2:],
        tuple(attributes["kernel_shape"]),
        tuple(attributes.get("strides", (1, 1))),
        tuple(attributes.get("pads", (0, 0))[:2]),
        maximum=operator == "MaxPool",
        counts_padding=bool(more),
    )
    place = placed({"x": shape, "y": truth.shape}, dtype, "activation")
    kernel = pooling_kernel("p", "p", pool, place.infos["x"], place.infos["y"])
    got, trace = run(kernel, place, {"x": x}, "y")
    close(got, truth, dtype)
    assert 16 <= trace.registers_per_thread <= 40
    if kind == "AveragePool":
        capped, trace = run(kernel, place, {"x": x}, "y", 24)
        close(capped, truth, dtype)
        assert trace.registers_per_thread <= 24


def test_dilated_maximum():
    x = np.random.default_rng(2).standard_normal((1, 8, 12, 9)).astype(np.float32)
    truth = reference("MaxPool", x, kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 1, 0, 1])
    pool = Pool(pixels(x.shape, "float32"), *truth.shape[2:], (3, 2), (1, 1), (1, 1), (2, 3))
    place = placed({"x": x.shape, "y": truth.shape}, "float32", "activation")
    kernel = pooling_kernel("p", "p", pool, place.infos["x"], place.infos["y"])
    close(run(kernel, place, {"x": x}, "y")[0], truth, "float32")


def test_pooling_without_padding_reads_each_window_once():
    """Whole warps and no overlap: every element is read once, and compared once."""
    pool = Pool(Pixels(1, 16, 16, 64, 2), 8, 8, (2, 2), (2, 2))
    place = placed({"x": (1, 64, 16, 16), "y": (1, 64, 8, 8)}, "float16", "activation")
    x = np.random.default_rng(3).standard_normal((1, 64, 16, 16)).astype(np.float16)
    _, trace = run(pooling_kernel("p", "p", pool, place.infos["x"], place.infos["y"]), place, {"x": x}, "y")
    moved = traffic(trace)
    assert moved["LDG"] == x.nbytes == moved["LDG sectors"] * 32
    assert moved["STG"] == x.nbytes // 4 == moved["STG sectors"] * 32
    assert info(trace)["mix"]["HADD2"] * 32 == x.size


@pytest.mark.parametrize(("dtype", "cap"), [("float16", None), ("float16", 32), ("float32", None)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(10, 14), (7, 7), (3, 20), (1, 1)])
def test_bilinear(sizes, mode, dtype, cap):
    shape = (2, 12, 5, 7)
    x = np.random.default_rng(4).standard_normal(shape).astype(dtype)
    target = (*shape[:2], *sizes)
    truth = reference(
        "Resize", x, None, None, np.array(target), mode="linear", coordinate_transformation_mode=mode
    )
    place = placed({"x": shape, "y": target}, dtype, "activation")
    kernel = bilinear_kernel(
        "u", "u", pixels(shape, dtype), pixels(target, dtype), mode, place.infos["x"], place.infos["y"]
    )
    got, trace = run(kernel, place, {"x": x}, "y", cap)
    close(got, truth, dtype)
    assert trace.registers_per_thread <= (cap or 48)


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize(("channels", "size"), [(96, 5), (16, 5), (8, 3), (8, 5), (24, 4), (16, 1), (4, 5)])
def test_local_response(channels, size, dtype, cap):
    shape = (2, channels, 3, 5)
    x = (3 * np.random.default_rng(5).standard_normal(shape)).astype(dtype)
    rule = {"alpha": 0.3, "beta": 0.75, "bias": 2.0}
    # By hand: the reference evaluator leaves out channels beyond the batch size.
    squares = np.pad(x.astype(np.float32) ** 2, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    total = sum(squares[:, first : first + channels] for first in range(size))
    truth = x / (rule["bias"] + rule["alpha"] / size * total) ** rule["beta"]
    place = placed({"x": shape, "y": shape}, dtype, "activation")
    kernel = response_kernel(
        "l", "l", Response(size, **rule), pixels(shape, dtype), place.infos["x"], place.infos["y"]
    )
    got, trace = run(kernel, place, {"x": x}, "y", cap)
    close(got, truth, dtype)
    assert trace.registers_per_thread <= (cap or 48)

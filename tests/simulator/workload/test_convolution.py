"""Convolution kernels, run on values, against a direct sum in double precision: padding, stride, odd sizes,
tails, epilogues, both tensor-core shapes, capped registers.
"""

from dataclasses import replace

import numpy as np
import pytest

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.workload.builders import geometry
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.convolution import convolution_kernel
from simulator.workload.builders.depthwise import depthwise_kernel
from simulator.workload.builders.geometry import COLUMNS, DEPTH, Convolution, Tile
from simulator.workload.ir import walk
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import trace_of
from simulator.workload.target import AMPERE, VOLTA

SHAPES = {
    "image": Convolution(1, 3, 15, 13, 64, (7, 7), (2, 2), (3, 3, 3, 3)),
    "pointwise": Convolution(1, 64, 6, 7, 72, (1, 1)),
    "pointwise whole": Convolution(2, 40, 8, 8, 64, (1, 1)),
    "three": Convolution(2, 32, 9, 7, 24, (3, 3), (1, 1), (1, 1, 1, 1)),
    "wide": Convolution(1, 24, 7, 5, 16, (3, 3), (2, 1), (0, 1, 1, 0)),
    "dilated": Convolution(1, 8, 11, 6, 3, (3, 2), (1, 2), (2, 0, 2, 1), 2),
}


GROUPED = {
    "two": Convolution(1, 48, 7, 6, 32, (3, 3), (1, 1), (1, 1, 1, 1), groups=2),
    "uneven": Convolution(2, 12, 6, 5, 24, (1, 1), groups=2),
    "odd": Convolution(1, 21, 5, 6, 24, (2, 3), (2, 1), (0, 1, 1, 1), groups=3),
    "wide groups": Convolution(1, 80, 5, 5, 144, (3, 1), (1, 1), (1, 0, 1, 0), groups=2),
    "dilated columns": Convolution(1, 24, 8, 9, 16, (3, 3), (1, 2), (2, 3, 2, 3), 2, column_dilation=3),
}


def direct(shape: Convolution, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sum by definition, group by group."""
    top, left, bottom, right = shape.pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    parts = []
    inputs = np.split(padded, shape.groups, axis=1)
    for own, filters in zip(inputs, np.split(w, shape.groups), strict=True):
        out = np.zeros((shape.batch, len(filters), shape.out_height, shape.out_width))
        for r in range(shape.window[0]):
            for s in range(shape.window[1]):
                a, b = r * shape.row_dilation, s * shape.column_dilation
                rows = own[:, :, a : a + (shape.out_height - 1) * shape.strides[0] + 1 : shape.strides[0]]
                cut = rows[..., b : b + (shape.out_width - 1) * shape.strides[1] + 1 : shape.strides[1]]
                out += np.einsum("nchw,kc->nkhw", cut, filters[:, :, r, s].astype(np.float64))
        parts.append(out)
    return np.concatenate(parts, axis=1)


def setting(shape: Convolution, fused: bool):
    place = Placement()
    dtype = {2: "float16", 4: "float32"}[shape.element_bytes]
    image = (shape.batch, shape.channels, shape.height, shape.width)
    result = (shape.batch, shape.filters, shape.out_height, shape.out_width)
    out_layout = Layout(result, dtype, "activation")
    x = place.place("x", Layout(image, dtype, "activation"), "input")
    w = place.place(
        "w",
        Layout(
            (shape.filters, shape.channels // shape.groups, *shape.window),
            dtype,
            "taps" if shape.depthwise else "filter",
        ),
        "weight",
    )
    y, z, out, other = (place.place(n, out_layout, "intermediate") for n in ("y", "z", "out", "other"))
    vector = Layout((1, shape.filters), "float32", "activation")
    scale, shift = (place.place(n, vector, "weight") for n in ("scale", "shift"))
    stages = (
        Stage("affine", "bn", y, z, scale, shift),
        Stage("add", "sum", z, z, other=other),
        Stage("relu", "relu", z, out),
    )
    return place, x, w, y, stages if fused else ()


def inputs(shape: Convolution):
    rng = np.random.default_rng(3)
    draw = rng.standard_normal
    dtype = {2: np.float16, 4: np.float32}[shape.element_bytes]
    return {
        "x": draw((shape.batch, shape.channels, shape.height, shape.width)).astype(dtype),
        "w": (draw((shape.filters, shape.channels // shape.groups, *shape.window)) / 8).astype(dtype),
        "scale": draw((1, shape.filters)).astype(np.float32),
        "shift": draw((1, shape.filters)).astype(np.float32),
        "other": draw((shape.batch, shape.filters, shape.out_height, shape.out_width)).astype(dtype),
    }


# Spilling is shown on the shapes with most address registers.
CASES = [(name, 64, True, None) for name in SHAPES] + [(name, 128, False, None) for name in SHAPES]
CASES += [("image", 128, True, 64), ("wide", 128, True, 64)]


@pytest.mark.parametrize(("name", "rows", "fused", "cap"), CASES)
@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
def test_convolution_gives_true_values(run_kernels, name, target, rows, fused, cap):
    shape = SHAPES[name]
    place, x, w, y, stages = setting(shape, fused)
    kernel = convolution_kernel("conv", "n0", shape, x, w, y, stages, target, Tile(rows))
    values = inputs(shape)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out" if fused else "y"], cap)
    expected = direct(shape, values["x"], values["w"])
    if fused:
        scale, shift = (values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift"))
        expected = np.maximum(expected * scale + shift + values["other"], 0)
    np.testing.assert_allclose(got, expected, rtol=4e-3, atol=1e-2)
    if cap:
        assert allocation.registers_per_thread <= cap
    else:
        assert allocation.spill_bytes_per_thread == 0


@pytest.mark.parametrize(
    ("name", "rows", "cap"),
    [("image", 64, None), ("dilated", 64, None), ("wide", 128, None), ("pointwise", 64, 32)],
)
@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
def test_single_precision_by_multiply_adds(run_kernels, name, rows, cap, target):
    shape = replace(SHAPES[name], element_bytes=4)
    place, x, w, y, stages = setting(shape, True)
    kernel = convolution_kernel("conv", "n0", shape, x, w, y, stages, target, Tile(rows))
    values = inputs(shape)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out"], cap)
    scale, shift = (values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift"))
    expected = np.maximum(direct(shape, values["x"], values["w"]) * scale + shift + values["other"], 0)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    assert (allocation.spill_bytes_per_thread > 0) == (cap is not None)
    assert allocation.registers_per_thread <= (cap or (168 if rows == 128 else 128))


@pytest.mark.parametrize(
    ("target", "element_bytes"), [(AMPERE, 2), (VOLTA, 2), (VOLTA, 4)], ids=["ampere", "volta", "fma"]
)
@pytest.mark.parametrize("name", GROUPED)
def test_groups_and_dilated_columns(run_kernels, name, target, element_bytes):
    shape = replace(GROUPED[name], element_bytes=element_bytes)
    place, x, w, y, stages = setting(shape, True)
    kernel = convolution_kernel("conv", "n0", shape, x, w, y, stages, target, Tile(64))
    values = inputs(shape)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out"])
    scale, shift = (values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift"))
    expected = np.maximum(direct(shape, values["x"], values["w"]) * scale + shift + values["other"], 0)
    np.testing.assert_allclose(got, expected, rtol=4e-3, atol=1e-2)
    assert allocation.registers_per_thread <= 168


DEPTHWISE = {
    "three": Convolution(2, 24, 7, 5, 24, (3, 3), (1, 1), (1, 1, 1, 1), groups=24),
    "stride": Convolution(1, 136, 9, 6, 136, (3, 3), (2, 2), (1, 1, 1, 1), groups=136),
    "valid": Convolution(1, 16, 6, 6, 16, (2, 3), (1, 1), groups=16),
    "dilated": Convolution(1, 4, 9, 9, 4, (3, 2), (1, 1), (2, 3, 2, 0), 2, groups=4, column_dilation=3),
}


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("element_bytes", [2, 4])
@pytest.mark.parametrize("name", DEPTHWISE)
def test_depthwise(run_kernels, name, element_bytes, cap):
    shape = replace(DEPTHWISE[name], element_bytes=element_bytes)
    place, x, w, y, stages = setting(shape, True)
    kernel = depthwise_kernel("conv", "n0", shape, x, w, y, stages)
    values = inputs(shape)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out"], cap)
    scale, shift = (values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift"))
    expected = np.maximum(direct(shape, values["x"], values["w"]) * scale + shift + values["other"], 0)
    np.testing.assert_allclose(got, expected, rtol=4e-3, atol=1e-2)
    check(trace_of(allocation))
    assert allocation.registers_per_thread <= (cap or 77)
    products = sum(1 for _, op in walk(kernel.body) if op.operation is Operation.FFMA and op.operator == 0)
    lanes = min(16 // element_bytes, shape.stored_filters)
    assert products == shape.window[0] * shape.window[1] * lanes


def test_too_many_pixel_tiles_for_y_go_to_x(run_kernels, monkeypatch):
    monkeypatch.setattr(geometry, "MAX_GRID_Y", 1)
    shape = SHAPES["pointwise whole"]
    place, x, w, y, stages = setting(shape, True)
    kernel = convolution_kernel("conv", "n0", shape, x, w, y, stages, AMPERE, Tile(64))
    assert kernel.grid == (2, 1, 1)
    values = inputs(shape)
    (got,), _ = run_kernels([kernel], place, values, ["out"])
    scale, shift = (values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift"))
    expected = direct(shape, values["x"], values["w"]) * scale + shift + values["other"]
    np.testing.assert_allclose(got, np.maximum(expected, 0), rtol=4e-3, atol=1e-2)


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="window larger"):
        Convolution(1, 8, 2, 2, 8, (3, 3))
    with pytest.raises(InputError, match="32-bit indices"):
        Convolution(1 << 20, 64, 224, 224, 64, (1, 1))


@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
def test_products_are_those_of_the_tile_with_its_tails(target):
    shape = SHAPES["image"]
    _, x, w, y, _ = setting(shape, False)
    kernel = convolution_kernel("conv", "n0", shape, x, w, y, (), target, Tile(128))
    trips = shape.depth_tiles
    assert trips == 7
    products = sum(1 for depth, op in walk(kernel.body) if op.operation is target.matrix) * trips
    blocks = kernel.grid[0] * kernel.grid[1]
    macs_each = {Operation.HMMA_16816_F32: 16 * 8 * 16, Operation.HMMA_884_F32: 256}[target.matrix]
    tiles = -(-shape.rows // 128) * -(-64 // COLUMNS)
    assert blocks * 4 * products * macs_each == tiles * 128 * COLUMNS * trips * DEPTH

"""Matrix product kernels, run on values, against NumPy: both directions of both operands, odd sizes, batches
and broadcast ones, epilogues, both element types, both generations, capped registers.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.trace.check import check
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.geometry import Tile
from simulator.workload.builders.product import Operand, Product
from simulator.workload.builders.product_kernel import product_kernel
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import trace_of
from simulator.workload.target import AMPERE, VOLTA

TARGETS = {"ampere": AMPERE, "volta": VOLTA}


def flat(place, name, shape, dtype, kind="intermediate"):
    return place.place(name, Layout(tuple(shape), dtype, "flat"), kind)


def operand(info, rows, columns, turned, batch, shared):
    """Row-major (rows, columns) matrices, or column-major ones where turned; one for all where shared."""
    strides, total = [], rows * columns
    for extent in reversed(batch):
        strides.insert(0, 0 if shared else total)
        total *= extent
    return Operand(info, *((1, rows) if turned else (columns, 1)), tuple(strides))


def setting(m, n, k, batch=(), dtype="float32", turned=(False, False), shared=False, fused=False):
    """Placement, kernel arguments, values and the true result."""
    place = Placement()
    rng = np.random.default_rng(5)
    a = rng.standard_normal((*batch, m, k)).astype(dtype)
    b = (rng.standard_normal((k, n) if shared else (*batch, k, n)) / 8).astype(dtype)
    stored_a = np.swapaxes(a, -1, -2) if turned[0] else a
    stored_b = b if turned[1] else np.swapaxes(b, -1, -2)
    other = rng.standard_normal((*batch, m, n)).astype(dtype)
    shift = rng.standard_normal((1, n)).astype(np.float32)
    values = {"a": stored_a, "b": stored_b, "other": other, "shift": shift}
    left = operand(flat(place, "a", stored_a.shape, dtype), m, k, turned[0], batch, False)
    right = operand(flat(place, "b", stored_b.shape, dtype), n, k, turned[1], batch, shared)
    infos = [flat(place, name, other.shape, dtype) for name in ("product", "biased", "sum", "out", "other")]
    vector = flat(place, "shift", shift.shape, "float32", "weight")
    stages = (
        Stage("affine", "bias", infos[0], infos[1], None, vector),
        Stage("add", "sum", infos[1], infos[2], other=infos[4]),
        Stage("relu", "relu", infos[2], infos[3]),
    )
    result = operand(infos[0], m, n, False, batch, False)
    product = Product(m, n, k, batch, {"float32": 4, "float16": 2}[dtype])
    true = a.astype(np.float64) @ b.astype(np.float64)
    if fused:
        true = np.maximum(true + shift.astype(np.float64) + other, 0)
    return place, (product, (left, right), result, stages if fused else ()), values, true


WAYS = [(False, False), (False, True), (True, False), (True, True)]
CASES = [
    # The usual row-major product, and all other directions; whole tiles, and tails everywhere.
    *(({"m": 64, "n": 64, "k": 64, "turned": way}, 64, None) for way in WAYS),
    *(({"m": 72, "n": 40, "k": 24, "turned": way, "fused": True}, 64, None) for way in WAYS),
    ({"m": 130, "n": 66, "k": 36, "turned": (False, True), "fused": True}, 128, None),
    ({"m": 33, "n": 35, "k": 19, "turned": (False, True), "fused": True}, 64, None),
    ({"m": 5, "n": 3, "k": 1, "turned": (True, False)}, 64, None),
    ({"m": 17, "n": 24, "k": 40, "batch": (2, 3), "turned": (False, True), "fused": True}, 64, None),
    ({"m": 9, "n": 16, "k": 33, "batch": (3,), "turned": (False, True), "shared": True}, 64, None),
    ({"m": 64, "n": 64, "k": 40, "turned": (False, True), "fused": True}, 64, 32),
]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("card", TARGETS)
@pytest.mark.parametrize(("sizes", "rows", "cap"), CASES)
def test_product_gives_true_values(run_kernels, sizes, rows, cap, card, dtype):
    place, arguments, values, true = setting(**sizes, dtype=dtype)
    kernel = product_kernel("mm", "n0", *arguments, TARGETS[card], Tile(rows))
    name = "out" if sizes.get("fused") else "product"
    (got,), (allocation,) = run_kernels([kernel], place, values, [name], cap)
    tolerance = (4e-3, 1e-2) if dtype == "float16" else (1e-4, 1e-4)
    np.testing.assert_allclose(got.astype(np.float64), true, *tolerance)
    check(trace_of(allocation))
    assert (allocation.spill_bytes_per_thread > 0) == (cap is not None)
    assert allocation.registers_per_thread <= (cap or 168)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 40)),
    batch=st.sampled_from([(), (2,), (2, 2)]),
    turned=st.sampled_from(WAYS),
    dtype=st.sampled_from(["float32", "float16"]),
    card=st.sampled_from(sorted(TARGETS)),
    fused=st.booleans(),
)
def test_products_of_any_size(run_kernels, sizes, batch, turned, dtype, card, fused):
    place, arguments, values, true = setting(*sizes, batch, dtype, turned, fused=fused)
    kernel = product_kernel("mm", "n0", *arguments, TARGETS[card], Tile(64))
    (got,), _ = run_kernels([kernel], place, values, ["out" if fused else "product"])
    tolerance = (4e-3, 1e-2) if dtype == "float16" else (1e-4, 1e-4)
    np.testing.assert_allclose(got.astype(np.float64), true, *tolerance)

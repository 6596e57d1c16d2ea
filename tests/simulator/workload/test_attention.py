"""Attention in one kernel, run on values, against NumPy: widths, tails of queries and keys, shared heads,
capped registers; its products against the closed form, its registers against real ones.
"""

import numpy as np
import pytest

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.workload.allocate import allocate
from simulator.workload.builders.attention import Attention, Heads
from simulator.workload.builders.attention_kernel import attention_kernel
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import trace_of
from simulator.workload.target import AMPERE, VOLTA


def setting(batch, queries, keys, width, group=1, seed=0):
    """Heads lie (batch, heads, rows, width); `group` heads of queries share one of keys."""
    rng = np.random.default_rng(seed)
    place = Placement()
    few = (*batch[:-1], batch[-1] // group)
    shapes = {
        "q": (*batch, queries, width),
        "k": (*few, keys, width),
        "v": (*few, keys, width),
        "out": (*batch, queries, width),
    }
    infos = {n: place.place(n, Layout(s, "float16", "flat"), "input") for n, s in shapes.items()}
    values = {n: rng.standard_normal(shapes[n]).astype(np.float16) for n in "qkv"}
    extents = (*few, group) if group > 1 else batch

    def heads(name, rows, shared):
        strides, step = [], rows * width
        if group > 1:
            strides, step = [0 if shared else step], step * (1 if shared else group)
        for extent in reversed(few):
            strides.insert(0, step)
            step *= extent
        return Heads(infos[name], width, tuple(strides))

    shape = Attention(extents, queries, keys, width, width**-0.5)
    inputs = (heads("q", queries, False), heads("k", keys, True), heads("v", keys, True))
    wide = {n: v.astype(np.float64) for n, v in values.items()}
    k, v = (np.repeat(wide[n], group, axis=-3) for n in "kv")
    scores = wide["q"] @ np.swapaxes(k, -1, -2) * shape.scale
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    true = weights / weights.sum(axis=-1, keepdims=True) @ v
    return place, (shape, inputs, heads("out", queries, False)), values, true


CASES = [
    ((1, 2), 64, 128, 64, 1, None),
    ((2, 1), 70, 90, 32, 1, None),
    ((1, 1), 9, 17, 16, 1, None),
    ((1, 1), 33, 65, 128, 1, None),
    ((1, 4), 20, 64, 32, 2, None),
    ((1, 1), 40, 130, 64, 1, 32),
]


@pytest.mark.parametrize(("batch", "queries", "keys", "width", "group", "cap"), CASES)
def test_attention_gives_true_values(run_kernels, batch, queries, keys, width, group, cap):
    place, arguments, values, true = setting(batch, queries, keys, width, group)
    kernel = attention_kernel("flash", "n0", *arguments, AMPERE)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out"], cap)
    np.testing.assert_allclose(got.astype(np.float64), true, rtol=1e-2, atol=4e-3)
    check(trace_of(allocation))
    assert (allocation.spill_bytes_per_thread > 0) == (cap is not None)
    assert allocation.registers_per_thread <= (cap or 255)


def dynamic(kernel, operation):
    """How often a class of operations runs in the whole grid, warps times blocks."""

    def count(body, times):
        total = 0
        for item in body:
            if hasattr(item, "trips"):
                total += count(item.body, times * item.trips)
            elif item.operation is operation:
                total += times
        return total

    x, y, z = kernel.grid
    return count(kernel.body, x * y * z * kernel.threads // 32)


def test_products_and_bytes_are_those_of_attention_where_tiles_are_whole():
    _, (shape, inputs, result), _, _ = setting((2, 3), 128, 192, 64)
    kernel = attention_kernel("flash", "n0", shape, inputs, result, AMPERE)
    assert dynamic(kernel, Operation.HMMA_16816_F32) * 16 * 8 * 16 == shape.multiply_adds
    assert dynamic(kernel, Operation.STG) * 512 == 2 * 3 * 128 * 64 * 2
    # Queries once, keys and values once for each of the two blocks of queries.
    copied = dynamic(kernel, Operation.LDGSTS) * 512
    tile = 64 * 64 * 2
    blocks, tiles = 2 * 3 * 2, 3
    # The last turn's copy of keys is asked for, but every lane of it is off.
    assert copied == blocks * (1 + 1 + 2 * tiles) * tile


def test_registers_lie_between_those_of_small_and_large_real_kernels():
    for width, low, high in ((64, 96, 168), (128, 150, 255)):
        _, arguments, _, _ = setting((1, 1), 64, 128, width)
        trace = trace_of(allocate(attention_kernel("flash", "n0", *arguments, AMPERE)))
        assert low <= trace.registers_per_thread <= high


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="80 wide"):
        Attention((1,), 8, 8, 80, 1.0)
    with pytest.raises(InputError, match="no queries"):
        Attention((1,), 0, 8, 64, 1.0)
    with pytest.raises(InputError, match="heads"):
        Attention((1 << 17,), 8, 8, 64, 1.0)
    with pytest.raises(InputError, match="32-bit"):
        Attention((1 << 10,), 1 << 20, 8, 64, 1.0)
    _, arguments, _, _ = setting((1, 1), 64, 128, 64)
    with pytest.raises(InputError, match="asynchronous"):
        attention_kernel("flash", "n0", *arguments, VOLTA)

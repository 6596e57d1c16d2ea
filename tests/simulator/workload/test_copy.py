"""Data movement by the copy and the tiled transposition, run on values against NumPy; sectors and bank
conflicts against closed forms.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.workload.builders.copy import copy_kernel
from simulator.workload.builders.copying import Condition, Copying, Piece
from simulator.workload.builders.transpose import matrices, transpose_kernel
from tests.simulator.workload.movement_support import placed, run, traffic

SIZES = {"float16": 2, "float32": 4}


def numbers(shape, dtype="float32", seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("shape", [(2, 32, 64), (1, 33, 50), (3, 17, 31)])
def test_transposition(shape, dtype, padded, cap):
    batch, rows, columns = shape
    place = placed({"x": shape, "y": (batch, columns, rows)}, dtype)
    copying = matrices(place.infos["x"], place.infos["y"], batch, rows, columns, SIZES[dtype])
    kernel = transpose_kernel("t", "t", copying, padded=padded)
    x = numbers(shape, dtype)
    got, trace = run(kernel, place, {"x": x}, "y", cap)
    np.testing.assert_array_equal(got, x.transpose(0, 2, 1))
    assert cap is not None or 16 <= trace.registers_per_thread <= 32


@pytest.mark.parametrize(("dtype", "ways"), [("float32", 32), ("float16", 16)])
def test_columns_of_unpadded_tiles_conflict(dtype, ways):
    """32 rows of 32 floats start in one bank, of 32 halves in two; one bank more spreads them."""
    place = placed({"x": (1, 64, 32), "y": (1, 32, 64)}, dtype)
    copying = matrices(place.infos["x"], place.infos["y"], 1, 64, 32, SIZES[dtype])
    conflicts = []
    for padded in (True, False):
        _, trace = run(
            transpose_kernel("t", "t", copying, padded=padded), place, {"x": numbers((64, 32), dtype)}, "y"
        )
        moved = traffic(trace)
        conflicts.append(moved["conflicts"])
        assert moved["LDG sectors"] == moved["STG sectors"] == 64 * 32 * SIZES[dtype] // 32
    loads = 2 * 8 * 4  # blocks * warps * loads of a column
    assert conflicts == [0, loads * (ways - 1)]


def test_without_tiles_one_side_takes_a_sector_an_element():
    place = placed({"x": (1, 64, 64), "y": (1, 64, 64)})
    copying = matrices(place.infos["x"], place.infos["y"], 1, 64, 64, 4)
    x = numbers((1, 64, 64))
    got, trace = run(copy_kernel("t", "t", copying), place, {"x": x}, "y")
    np.testing.assert_array_equal(got, x.transpose(0, 2, 1))
    moved = traffic(trace)
    assert (moved["LDG sectors"], moved["STG sectors"]) == (64 * 64, 64 * 64 * 4 // 32)


def test_a_copy_of_whole_tensors_is_one_run_of_vectors():
    place = placed({"x": (5, 7, 16), "y": (5, 7, 16)}, "float16")
    strides = (112, 16, 1)
    copying = Copying((5, 7, 16), (Piece(place.infos["x"], strides),), (Piece(place.infos["y"], strides),), 2)
    assert copying.simplified().extents == (560,)
    x = numbers((5, 7, 16), "float16")
    got, trace = run(copy_kernel("c", "c", copying), place, {"x": x}, "y")
    np.testing.assert_array_equal(got, x)
    assert {i.bytes_per_lane for i in trace.program.body if i.bytes_per_lane} == {16}
    assert traffic(trace)["LDG sectors"] == 560 * 2 // 32


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_permutation_slice_and_pad(data):
    """A random box of a random tensor, its dimensions in a random order, set into a larger one of ones."""
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.integers(1, 9)) for _ in range(rank))
    starts = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    steps = [data.draw(st.integers(1, 3)) for _ in shape]
    order = data.draw(st.permutations(range(rank)))
    before = [data.draw(st.integers(0, 3)) for _ in shape]
    after = [data.draw(st.integers(0, 3)) for _ in shape]
    dtype = data.draw(st.sampled_from(sorted(SIZES)))
    x = numbers(shape, dtype)
    box = x[tuple(slice(a, None, s) for a, s in zip(starts, steps, strict=True))].transpose(order)
    truth = np.pad(box, list(zip(before, after, strict=True)), constant_values=1)
    place = placed({"x": shape, "y": truth.shape}, dtype)
    memory = [x.strides[d] // x.itemsize for d in range(rank)]
    strides = tuple(memory[d] * steps[d] for d in order)
    offset = sum(start * stride for start, stride in zip(starts, memory, strict=True))
    offset -= sum(gap * stride for gap, stride in zip(before, strides, strict=True))
    conditions = tuple(
        Condition(tuple(int(d == place_) for d in range(rank)), -before[place_], box.shape[place_])
        for place_ in range(rank)
    )
    contiguous = tuple(step // truth.itemsize for step in truth.strides)
    fill = int(np.ones(4 // x.itemsize, dtype).view(np.uint32)[0])
    copying = Copying(
        truth.shape,
        (Piece(place.infos["x"], strides, offset, conditions),),
        (Piece(place.infos["y"], contiguous),),
        x.itemsize,
        fill,
    )
    got, _ = run(copy_kernel("c", "c", copying), place, {"x": x}, "y")
    np.testing.assert_array_equal(got, truth)


def test_short_dimensions_are_no_transposition():
    place = placed({"x": (1, 8, 64), "y": (1, 64, 8)})
    with pytest.raises(InputError, match="plain copy"):
        transpose_kernel("t", "t", matrices(place.infos["x"], place.infos["y"], 1, 8, 64, 4))

"""Index arithmetic against plain integers on every value of its variables."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.trace.expression import VARIABLES, Variable
from simulator.workload.affine import Index, variable

LIMITS = {Variable.BLOCK_X: 5, Variable.WARP: 3, Variable.LANE: 32}


def values():
    for combination in product(*(range(limit) for limit in LIMITS.values())):
        filled = [0] * VARIABLES
        for name, value in zip(LIMITS, combination, strict=True):
            filled[name] = value
        yield filled


def check(index: Index, truth) -> None:
    expression = index.expression()
    low, high = index.bounds()
    for filled in values():
        expected = truth(*(filled[name] for name in LIMITS))
        assert expression.evaluate(filled) == expected
        assert low <= expected <= high


X, W, L = (variable(name, limit) for name, limit in LIMITS.items())


def test_thread_splits_into_warp_and_lane():
    thread = W * 32 + L
    check(thread // 8, lambda _, w, t: (32 * w + t) // 8)
    check(thread % 4, lambda _, __, t: t % 4)
    check(thread % 64, lambda _, w, t: (32 * w + t) % 64)


@pytest.mark.parametrize("width", [7, 13, 14, 28, 56, 112])
def test_output_pixel_of_a_tile_row(width):
    row = X * 128 + W * 8 + L // 4 + 64
    check(row // width, lambda x, w, t: (128 * x + 8 * w + t // 4 + 64) // width)
    check(row % width, lambda x, w, t: (128 * x + 8 * w + t // 4 + 64) % width)
    check(row // width % 5, lambda x, w, t: (128 * x + 8 * w + t // 4 + 64) // width % 5)


def test_nested_remainders_are_refused():
    with pytest.raises(InputError, match="no closed term"):
        (X * 3 + L % 5) // 7


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-40, 130), min_size=4, max_size=4),
    st.integers(1, 9),
    st.integers(1, 150),
    st.integers(1, 40),
)
def test_whatever_has_a_form_has_the_right_one(weights, inner, divisor, modulus):
    a, b, c, d = weights

    def plain(x, w, t):
        return a * x + b * w + c * (t // inner) + d

    start = X * a + W * b + (L // inner) * c + d
    for shape, truth in (
        (lambda: start // divisor, lambda *v: plain(*v) // divisor),
        (lambda: start % divisor, lambda *v: plain(*v) % divisor),
        (lambda: start // divisor % modulus, lambda *v: plain(*v) // divisor % modulus),
        (lambda: start % divisor // modulus, lambda *v: plain(*v) % divisor // modulus),
    ):
        try:
            index = shape()
        except InputError:
            continue
        check(index, truth)

"""Each arithmetic effect of the interpreter against plain Python integers or NumPy floats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.workload.interpret.effects import ARITHMETIC
from simulator.workload.ir import Effect

WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4)
MASK = 2**32 - 1


def signed(value):
    return value - 2**32 if value >= 2**31 else value


def run(effect, sources, numbers=()):
    arrays = [np.array(source, np.uint32) for source in sources]
    return [list(map(int, result)) for result in ARITHMETIC[effect](arrays, numbers)]


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS, WORDS, st.integers(-(2**20), 2**20), st.integers(0, 31))
def test_integers_wrap_at_32_bits(a, b, c, number, shift):
    rows = list(zip(a, b, c, strict=True))
    assert run(Effect.ADD, [a, b], (number,)) == [[(x + y + number) & MASK for x, y, _ in rows]]
    assert run(Effect.MULTIPLY_ADD, [a, b], (number, 5)) == [
        [(signed(x) * number + 5 + signed(y)) & MASK for x, y, _ in rows]
    ]
    assert run(Effect.MULTIPLY, [a, b, c]) == [
        [(signed(x) * signed(y) + signed(z)) & MASK for x, y, z in rows]
    ]
    assert run(Effect.SHIFT_RIGHT, [a], (shift,)) == [[x >> shift for x in a]]
    assert run(Effect.AND, [a], (number & MASK,)) == [[x & number & MASK for x in a]]
    assert run(Effect.COPY, [a]) == [a]
    low, high = run(Effect.WIDE, [a, b, [w & 0xFFFF for w in c]], (number, 0))
    for x, y, z, got in zip(a, b, c, zip(low, high, strict=True), strict=True):
        full = signed(x) * number + y + ((z & 0xFFFF) << 32)
        assert got == (full & MASK, full >> 32 & MASK)


@pytest.mark.parametrize("value", [0, 1, 2**31 - 1, 12345678])
def test_upper_half_of_a_product(value):
    assert run(Effect.MULTIPLY_HIGH, [[value]], (0xAAAAAAAB,)) == [[value * 0xAAAAAAAB >> 32]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1000, 1000, width=16), min_size=3, max_size=3))
def test_floats_are_single_precision(values):
    x, y, z = (np.float32(value) for value in values)
    words = [[int(value.view(np.uint32))] for value in (x, y, z)]

    def single(effect, count, numbers=()):
        (result,) = ARITHMETIC[effect]([np.array(word, np.uint32) for word in words[:count]], numbers)
        return result.view(np.float32)[0]

    assert single(Effect.FLOAT_ADD, 2) == x + y
    assert single(Effect.FLOAT_MULTIPLY, 2) == x * y
    assert single(Effect.FLOAT_FUSED, 3) == np.float32(np.float64(x) * np.float64(y) + np.float64(z))
    assert single(Effect.FLOAT_MAXIMUM, 1, (0.0,)) == max(x, np.float32(0))
    assert single(Effect.FLOAT_MAXIMUM, 2) == max(x, y)
    (packed,) = ARITHMETIC[Effect.PACK]([np.array(word, np.uint32) for word in words[:2]], ())
    for half, value in ((0, x), (1, y)):
        (back,) = ARITHMETIC[Effect.UNPACK]([packed], (half,))
        assert back.view(np.float32)[0] == value

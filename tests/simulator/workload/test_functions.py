"""Special functions, conversions and bit effects of the interpreter against NumPy and plain integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.workload.interpret.functions import FLOAT_TESTS, FUNCTIONS
from simulator.workload.ir import Effect, Function, Rounding

WORD = st.integers(0, 2**32 - 1)


def run(effect, sources, numbers=()):
    arrays = [np.array([source], np.uint32) for source in sources]
    return [int(word[0]) for word in FUNCTIONS[effect](arrays, numbers)]


def bits(value):
    return int(np.float32(value).view(np.uint32))


def number(word):
    return np.uint32(word).view(np.float32)


@settings(max_examples=60, deadline=None)
@given(WORD, WORD, WORD, st.sampled_from([0, 8, 16, 24]))
def test_bits(a, b, c, place):
    assert run(Effect.INSERT, [a, b], (place,)) == [a & ~(0xFF << place) | (b & 0xFF) << place]
    assert run(Effect.XOR, [a, b, c], (0x9E3779B9,)) == [a ^ b ^ c ^ 0x9E3779B9]
    low, high = run(Effect.WIDE_UNSIGNED, [a], (0xD2511F53,))
    assert low + (high << 32) == a * 0xD2511F53
    assert run(Effect.FLOAT_ABSOLUTE, [a]) == [a & 0x7FFFFFFF]
    assert number(run(Effect.TO_FLOAT, [a], (place // 8, 0))[0]) == a >> place & 0xFF
    whole = a - 2**32 if a >= 2**31 else a
    assert number(run(Effect.TO_FLOAT, [a], (-1, 1))[0]) == np.float32(whole)


@settings(max_examples=60, deadline=None)
@given(st.floats(-300, 300, width=32))
def test_floats_to_integers_are_rounded_and_clamped(value):
    for way, truth in ((Rounding.NEAREST, np.rint), (Rounding.ZERO, np.trunc)):
        (word,) = run(Effect.FROM_FLOAT, [bits(value)], (int(way), -128, 127))
        assert np.uint32(word).view(np.int32) == np.clip(truth(value), -128, 127)


@pytest.mark.parametrize(
    ("which", "value", "truth"),
    [
        (Function.RECIPROCAL, 1e-40, np.inf),
        (Function.RECIPROCAL, 3e38, 0.0),
        (Function.ROOT, 1e-40, 0.0),
        (Function.LOGARITHM, 1e-40, -np.inf),
        (Function.EXPONENTIAL, -130, 0.0),
        (Function.EXPONENTIAL, 3, 8.0),
        (Function.RECIPROCAL_ROOT, 4, 0.5),
    ],
)
def test_special_functions_take_subnormal_numbers_for_zero(which, value, truth):
    with np.errstate(all="ignore"):
        assert number(run(Effect.FUNCTION, [bits(value)], (int(which),))[0]) == truth


def test_comparisons():
    def test(effect, *values, numbers=()):
        words = [np.array([bits(value)], np.uint32) for value in values]
        with np.errstate(all="ignore"):
            return bool(FLOAT_TESTS[effect](words, numbers)[0])

    assert test(Effect.FLOAT_BELOW, -1, numbers=(0.0,))
    assert not test(Effect.FLOAT_BELOW, 2, 1)
    assert test(Effect.FLOAT_EQUALS, 0.0, -0.0)
    assert test(Effect.FLOAT_ORDINARY, 3.0, 2.0)
    assert not test(Effect.FLOAT_ORDINARY, 0.0)
    assert not test(Effect.FLOAT_ORDINARY, 1e-30, 1e20)

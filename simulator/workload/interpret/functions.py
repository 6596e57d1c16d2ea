"""What special functions, float comparisons and conversions compute, on 32-bit words held as NumPy arrays.

Special functions are rounded from double precision, so they are somewhat better than hardware's; subnormal
arguments and results count as zero, as in hardware, so that a program that forgets to scale them fails.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simulator.workload.interpret.effects import Floats, Numbers, floats, signed, word_of, wrapped
from simulator.workload.interpret.memory import Mask, Words
from simulator.workload.ir import Effect, Function, Rounding

LEAST = np.float32(2.0**-126)
ORDINARY_DIVISOR = (2.0**-126, 2.0**126)
ORDINARY_QUOTIENT = (2.0**-100, 2.0**100)
COMPUTED: dict[Function, Callable[[Any], Any]] = {
    Function.RECIPROCAL: lambda x: 1 / x,
    Function.RECIPROCAL_ROOT: lambda x: 1 / np.sqrt(x),
    Function.ROOT: np.sqrt,
    Function.EXPONENTIAL: np.exp2,
    Function.LOGARITHM: np.log2,
}
ROUNDED = {Rounding.NEAREST: np.rint, Rounding.DOWN: np.floor, Rounding.UP: np.ceil, Rounding.ZERO: np.trunc}


def flushed(value: Floats) -> Floats:
    """Zero of the same sign in place of subnormal numbers."""
    return np.where(np.abs(value) < LEAST, np.copysign(np.float32(0), value), value).astype(np.float32)


def second(src: Sequence[Words], numbers: Numbers) -> Floats:
    """The second operand: a register or an immediate."""
    return floats(src[1]) if len(src) > 1 else np.float32(numbers[0]).reshape(1)


def function(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """One special function."""
    exact = COMPUTED[Function(int(numbers[0]))](flushed(floats(src[0])).astype(np.float64))
    return [word_of(flushed(exact.astype(np.float32)))]


def minimum(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """The lesser."""
    return [word_of(np.minimum(floats(src[0]), second(src, numbers)))]


def scale(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Product with an immediate, and a sum rounded once."""
    exact = floats(src[0]).astype(np.float64) * np.float32(numbers[0])
    return [word_of((exact + floats(src[1]) if len(src) > 1 else exact).astype(np.float32))]


def fused_constant(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Multiply-add with an immediate addend."""
    exact = floats(src[0]).astype(np.float64) * floats(src[1]) + np.float32(numbers[0])
    return [word_of(exact.astype(np.float32))]


def fused_negated(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Addend less a product."""
    exact = floats(src[2]) - floats(src[0]).astype(np.float64) * floats(src[1])
    return [word_of(exact.astype(np.float32))]


def to_float(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """A byte or a word as a float."""
    byte, is_signed = int(numbers[0]), bool(numbers[1])
    if byte < 0:
        return [word_of((signed(src[0]) if is_signed else src[0].astype(np.int64)).astype(np.float32))]
    value = (src[0] >> np.uint32(8 * byte) & np.uint32(0xFF)).astype(np.uint8)
    return [word_of((value.view(np.int8) if is_signed else value).astype(np.float32))]


def from_float(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """A float as an integer; no number becomes zero."""
    value = ROUNDED[Rounding(int(numbers[0]))](floats(src[0]).astype(np.float64))
    return [wrapped(np.clip(np.nan_to_num(value), numbers[1], numbers[2]).astype(np.int64))]


def insert(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """A byte put into a word."""
    place = np.uint32(int(numbers[0]))
    return [src[0] & ~(np.uint32(0xFF) << place) | (src[1] & np.uint32(0xFF)) << place]


def xor(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Exclusive or of all words and an immediate."""
    value = src[0] ^ np.uint32(int(numbers[0]) & 0xFFFFFFFF)
    for word in src[1:]:
        value = value ^ word
    return [value]


def wide_unsigned(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Both words of an unsigned product."""
    value = src[0].astype(np.uint64) * np.uint64(int(numbers[0]))
    return [(value & np.uint64(0xFFFFFFFF)).astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)]


def ordinary(src: Sequence[Words], _: Numbers) -> Mask:
    """Whether a quotient can be corrected by multiply-adds."""
    divisor = np.abs(floats(src[0])).astype(np.float64)
    quotient = (np.abs(floats(src[1])) if len(src) > 1 else 1.0) / divisor
    inside: Mask = (divisor >= ORDINARY_DIVISOR[0]) & (divisor <= ORDINARY_DIVISOR[1])
    return inside & (quotient >= ORDINARY_QUOTIENT[0]) & (quotient <= ORDINARY_QUOTIENT[1])


FUNCTIONS: dict[Effect, Callable[[Sequence[Words], Numbers], list[Words]]] = {
    Effect.FUNCTION: function,
    Effect.FLOAT_MINIMUM: minimum,
    Effect.FLOAT_OFFSET: lambda src, numbers: [word_of(floats(src[0]) + np.float32(numbers[0]))],
    Effect.FLOAT_SCALE: scale,
    Effect.FLOAT_FUSED_CONSTANT: fused_constant,
    Effect.FLOAT_FUSED_NEGATED: fused_negated,
    Effect.FLOAT_SUBTRACT: lambda src, _: [word_of(floats(src[0]) - floats(src[1]))],
    Effect.FLOAT_ABSOLUTE: lambda src, _: [src[0] & np.uint32(0x7FFFFFFF)],
    Effect.FLOAT_COPY_SIGN: lambda src, _: [word_of(np.copysign(floats(src[0]), floats(src[1])))],
    Effect.FLOAT_ROUND: lambda src, numbers: [word_of(ROUNDED[Rounding(int(numbers[0]))](floats(src[0])))],
    Effect.TO_FLOAT: to_float,
    Effect.FROM_FLOAT: from_float,
    Effect.INSERT: insert,
    Effect.XOR: xor,
    Effect.WIDE_UNSIGNED: wide_unsigned,
}
FLOAT_TESTS: dict[Effect, Callable[[Sequence[Words], Numbers], Mask]] = {
    Effect.FLOAT_BELOW: lambda src, numbers: floats(src[0]) < second(src, numbers),
    Effect.FLOAT_EQUALS: lambda src, numbers: floats(src[0]) == second(src, numbers),
    Effect.FLOAT_ORDINARY: ordinary,
}

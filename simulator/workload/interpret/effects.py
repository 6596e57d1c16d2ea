"""What each arithmetic effect computes, on 32-bit words held as NumPy arrays of any shape: sources in,
results out, no state.

Floats are IEEE single precision; a fused multiply-add is rounded once through double precision, which is
exact enough for every product of two singles. Integer arithmetic wraps at 32 bits.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simulator.workload.interpret.memory import Words
from simulator.workload.ir import Effect

Numbers = tuple[int | float, ...]
Floats = npt.NDArray[np.float32]


def signed(word: Words) -> npt.NDArray[np.int64]:
    """A word as a signed integer, in 64 bits."""
    return word.view(np.int32).astype(np.int64)


def wrapped(value: npt.NDArray[np.int64]) -> Words:
    """The lower 32 bits."""
    return (value & 0xFFFFFFFF).astype(np.uint32)


def floats(word: Words) -> Floats:
    """A word as a float."""
    return np.ascontiguousarray(word).view(np.float32)


def word_of(value: npt.NDArray[np.float32]) -> Words:
    """A float as its word."""
    return np.ascontiguousarray(value.astype(np.float32)).view(np.uint32)


def add(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Integer sum with an immediate."""
    return [wrapped(sum((signed(word) for word in src), start=np.int64(numbers[0])))]  # type: ignore[arg-type]


def multiply_add(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Multiply by one immediate, add another, and a register."""
    value = signed(src[0]) * int(numbers[0]) + int(numbers[1])
    return [wrapped(value + signed(src[1]) if len(src) > 1 else value)]


def multiply(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Product of registers, and a register."""
    value = signed(src[0]) * signed(src[1])
    return [wrapped(value + signed(src[2]) if len(src) > 2 else value)]


def wide(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """64-bit multiply-add from a signed word."""
    value = signed(src[0]) * int(numbers[0]) + int(numbers[1])
    if len(src) > 1:
        value = value + src[1].astype(np.int64) + (signed(src[2]) << 32)
    return [wrapped(value), wrapped(value >> 32)]


def multiply_high(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Upper word of an unsigned product."""
    return [wrapped(src[0].astype(np.int64) * int(numbers[0]) >> 32)]


def shift_right(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Unsigned shift."""
    return [src[0] >> np.uint32(int(numbers[0]))]


def bit_and(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """Bits of a mask."""
    return [src[0] & np.uint32(int(numbers[0]))]


def unpack(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """One half as a float."""
    half = (src[0] >> np.uint32(16 * int(numbers[0]))) & np.uint32(0xFFFF)
    return [word_of(half.astype(np.uint16).view(np.float16).astype(np.float32))]


def pack(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Two floats as halves, rounded to nearest even."""
    low, high = (floats(word).astype(np.float16).view(np.uint16).astype(np.uint32) for word in src)
    return [low | high << np.uint32(16)]


def float_add(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Sum."""
    return [word_of(floats(src[0]) + floats(src[1]))]


def float_multiply(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Product."""
    return [word_of(floats(src[0]) * floats(src[1]))]


def float_fused(src: Sequence[Words], _: Numbers) -> list[Words]:
    """Multiply-add."""
    exact = floats(src[0]).astype(np.float64) * floats(src[1]) + floats(src[2])
    return [word_of(exact.astype(np.float32))]


def float_maximum(src: Sequence[Words], numbers: Numbers) -> list[Words]:
    """The greater, of a register and a register or immediate."""
    other = floats(src[1]) if len(src) > 1 else np.float32(numbers[0])
    return [word_of(np.maximum(floats(src[0]), other))]


def copy(src: Sequence[Words], _: Numbers) -> list[Words]:
    """The same words."""
    return list(src)


ARITHMETIC: dict[Effect, Callable[[Sequence[Words], Numbers], list[Words]]] = {
    Effect.ADD: add,
    Effect.MULTIPLY_ADD: multiply_add,
    Effect.MULTIPLY: multiply,
    Effect.WIDE: wide,
    Effect.MULTIPLY_HIGH: multiply_high,
    Effect.SHIFT_RIGHT: shift_right,
    Effect.AND: bit_and,
    Effect.UNPACK: unpack,
    Effect.PACK: pack,
    Effect.FLOAT_ADD: float_add,
    Effect.FLOAT_MULTIPLY: float_multiply,
    Effect.FLOAT_FUSED: float_fused,
    Effect.FLOAT_MAXIMUM: float_maximum,
    Effect.COPY: copy,
}

"""The three ways in which a line gives the addresses of its lanes, as offsets from a base.

Mode 0 lists one address for each active lane; mode 1 is a base and a byte stride over one run of lanes;
mode 2 a base and the differences from one active lane to the next. The count of numbers must fit the mask
exactly: a list that was cut short would otherwise put lanes at address 0.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_

from simulator.trace.recording import DELTA_LIMIT
from simulator.trace.schema import FULL_MASK, LANES

LIST, STRIDE, DELTA = range(3)
MODES = {b"0": LIST, b"1": STRIDE, b"2": DELTA}
NUMBER_LIMIT = 1 << 49
NUMBER_CHARACTERS = 20
STRIDE_FORM, DELTA_FORM, LIST_FORM = struct.Struct("<q"), struct.Struct("<32i"), struct.Struct("<32q")


class AddressError(ValueError):
    """What is wrong with the addresses of a line: (problem, remedy)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The addresses of a warp less their base: bounds of the active lanes, what spoils their alignment, and
    the pattern of the recorded form (packed numbers of its kind), whose own base is `shift` from the line's.
    """

    low: int
    high: int
    alignment: int
    shift: int
    kind: str
    pattern: bytes


def lanes_of(mask: int) -> tuple[int, ...]:
    """The lanes whose bit is set."""
    return tuple(lane for lane in range(LANES) if mask >> lane & 1)


def numbers(words: Sequence[bytes], base: int = 10) -> list[int]:
    """The numbers of a line; a line is short, so that no number costs much time."""
    try:
        values = list(map(int, words)) if base == 10 else [int(word, base) for word in words]
        bounded = min(values, default=0) > -NUMBER_LIMIT and max(values, default=0) < NUMBER_LIMIT
        if bounded and b"_" not in b"".join(words):
            return values
    except ValueError:
        pass
    for word in words:
        if not is_number(word, base):
            kind = "hexadecimal address" if base == 16 else "decimal number"
            shown = word[:24].decode("ascii", "backslashreplace")
            raise AddressError(f"{shown!r} is no {kind} within 49 bits", "write what the tracer does")
    raise AddressError("no numbers", "write what the tracer does")


def is_number(word: bytes, base: int) -> bool:
    """Whether a word is a number in bounds."""
    try:
        return (
            len(word) <= NUMBER_CHARACTERS
            and b"_" not in word
            and -NUMBER_LIMIT < int(word, base) < NUMBER_LIMIT
        )
    except ValueError:
        return False


def offsets_of(mode: int, lanes: Sequence[int], words: Sequence[bytes]) -> list[int]:
    """The offset of each active lane from the base, of the words between the base and the immediate."""
    if mode == STRIDE:
        expect(words, 1, "byte stride after the base")
        stride = numbers(words)[0]
        if lanes and lanes[-1] - lanes[0] + 1 != len(lanes):
            raise AddressError(
                "base + stride for lanes that are not one run", "give a list (mode 0) or differences (mode 2)"
            )
        return [stride * index for index in range(len(lanes))]
    expect(words, max(0, len(lanes) - 1), "differences after the base")
    return list(accumulate(numbers(words), initial=0))[: len(lanes)]


def expect(words: Sequence[bytes], count: int, what: str) -> None:
    """Refuse a line with more or fewer numbers than its mask asks for."""
    if len(words) != count:
        raise AddressError(
            f"{len(words)} numbers where {count} must be: {what}",
            "give one for each active lane as the mode has it; the line was cut or its mask is wrong",
        )


def shape_of(offsets: list[int], lanes: Sequence[int], mask: int) -> Shape:
    """The shape of the lanes in `mask`, of the offsets of all active lanes (the first is 0)."""
    if mask != FULL_MASK:
        used = [(lane, one) for lane, one in zip(lanes, offsets, strict=True) if mask >> lane & 1]
        if not used:
            return Shape(0, 0, 0, 0, "stride", STRIDE_FORM.pack(0))
        lanes, offsets = [lane for lane, _ in used], [one for _, one in used]
    low, high, first = min(offsets), max(offsets), offsets[0]
    stride = (offsets[1] - first) // (lanes[1] - lanes[0]) if len(offsets) > 1 else 0
    ends = first + stride * (lanes[-1] - lanes[0])
    if offsets[-1] == ends and all(
        one == first + stride * (lane - lanes[0]) for lane, one in zip(lanes, offsets, strict=True)
    ):
        kind, shift, pattern = "stride", first - stride * lanes[0], STRIDE_FORM.pack(stride)
    else:
        spread = offsets
        if mask != FULL_MASK:
            spread = [0] * LANES
            for lane, one in zip(lanes, offsets, strict=True):
                spread[lane] = one
        narrow = low >= -DELTA_LIMIT and high < DELTA_LIMIT
        kind, shift = "delta" if narrow else "list", 0
        pattern = (DELTA_FORM if narrow else LIST_FORM).pack(*spread)
    return Shape(low, high, reduce(or_, offsets), shift, kind, pattern)

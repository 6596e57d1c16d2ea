"""The three ways in which a line gives the addresses of its lanes, as offsets from a base.

Mode 0 lists one address for each active lane; mode 1 is a base and a byte stride over one run of lanes;
mode 2 a base and the differences from one active lane to the next. The count of numbers must fit the mask exactly: a
list that was cut short would otherwise put lanes at address 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from simulator.trace.recording import encode
from simulator.trace.schema import LANES

LIST, STRIDE, DELTA = range(3)
MODES = {b"0": LIST, b"1": STRIDE, b"2": DELTA}
NUMBER_LIMIT = 1 << 49


class AddressError(ValueError):
    """What is wrong with the addresses of a line: (problem, remedy)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The addresses of a warp less their base: bounds of the active lanes, what spoils their alignment, and
    the pattern of the recorded form, whose own base is `shift` from the line's.
    """

    low: int
    high: int
    alignment: int
    shift: int
    kind: str
    pattern: tuple[int, ...]


def lanes_of(mask: int) -> tuple[int, ...]:
    """The lanes whose bit is set."""
    return tuple(lane for lane in range(LANES) if mask >> lane & 1)


def number(text: bytes, base: int = 10) -> int:
    """A number of a line; longer than any address it is refused before it costs time."""
    try:
        value = int(text, base) if len(text) <= 20 else NUMBER_LIMIT
    except ValueError:
        value = NUMBER_LIMIT
    if not -NUMBER_LIMIT < value < NUMBER_LIMIT or b"_" in text:
        kind = "hexadecimal address" if base == 16 else "decimal number"
        raise AddressError(
            f"{text[:24].decode('ascii', 'replace')!r} is no {kind}", "write what the tracer does"
        )
    return value


def offsets_of(mode: int, lanes: Sequence[int], numbers: Sequence[bytes]) -> list[int]:
    """The offset of each active lane from the base, of the numbers between the base and the immediate."""
    if mode == STRIDE:
        expect(numbers, 1, "byte stride after the base")
        stride = number(numbers[0])
        if lanes and lanes[-1] - lanes[0] + 1 != len(lanes):
            raise AddressError(
                "base + stride for lanes that are not one run", "give a list (mode 0) or differences (mode 2)"
            )
        return [stride * index for index in range(len(lanes))]
    expect(numbers, max(0, len(lanes) - 1), "differences after the base")
    return list(accumulate(map(number, numbers), initial=0))[: len(lanes)]


def expect(numbers: Sequence[bytes], count: int, what: str) -> None:
    """Refuse a line with more or fewer numbers than its mask asks for."""
    if len(numbers) != count:
        raise AddressError(
            f"{len(numbers)} numbers where {count} must be: {what}",
            "give one for each active lane as the mode has it; the line was cut or its mask is wrong",
        )


def shape_of(offsets: Sequence[int], lanes: Sequence[int], mask: int) -> Shape:
    """The shape of the lanes in `mask`, of the offsets of all active lanes."""
    spread = [0] * LANES
    used: list[int] = []
    for lane, offset in zip(lanes, offsets, strict=True):
        if mask >> lane & 1:
            spread[lane] = offset
            used.append(offset)
    alignment = 0
    for offset in used:
        alignment |= offset
    shift, kind, pattern = encode(spread, mask)
    return Shape(min(used, default=0), max(used, default=0), alignment, shift, kind, pattern)

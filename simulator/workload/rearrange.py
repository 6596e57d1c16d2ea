"""Data movement operators as copies: where each element of the result comes from, given how both tensors lie.

The walk goes through the result in the order of its memory. Padded channels of a channels-last result are
written as zeros, so that nobody reads garbage. Where a reshape moves nothing in memory it is a view and needs
no kernel. Computed (not constant) starts, pads or axes are refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.axes import strides_of
from simulator.workload.builders.copying import Condition, Copying, Piece
from simulator.workload.graph import ITEM_BYTES
from simulator.workload.layout import Layout

Place = Callable[[str], TensorInfo]


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of a result's dimension; a dimension has its digits from the coarsest to the finest."""

    dimension: int
    extent: int


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor that is read: strides a digit, a start, ranges (digit number, first, extent), and conditions
    over several digits.
    """

    info: TensorInfo
    strides: tuple[int, ...]
    offset: int = 0
    ranges: tuple[tuple[int, int, int], ...] = ()
    conditions: tuple[Condition, ...] = ()


def steps_of(layout: Layout) -> list[int]:
    """Elements from one index to the next along each dimension, in the tensor's own order."""
    strides = strides_of(layout)
    return [strides[axis] for axis in range(len(layout.shape))]


def whole(layout: Layout) -> list[Digit]:
    """Each dimension as one digit."""
    return [Digit(dimension, extent) for dimension, extent in enumerate(layout.shape)]


def inner_extents(digits: list[Digit]) -> list[int]:
    """What one step of each digit is worth in its dimension."""
    return [
        prod(other.extent for other in digits[place + 1 :] if other.dimension == digit.dimension)
        for place, digit in enumerate(digits)
    ]


def result_strides(layout: Layout, digits: list[Digit]) -> tuple[int, ...]:
    """Elements in the result's memory that one step of each digit is worth."""
    strides = steps_of(layout)
    return tuple(
        strides[digit.dimension] * inner for digit, inner in zip(digits, inner_extents(digits), strict=True)
    )


def copy_of(
    layout: Layout, info: TensorInfo, digits: list[Digit], sources: list[Source], fill: int = 0
) -> Copying:
    """The copy that fills a result; `fill` is the word where no source has a part."""
    rank = len(digits)
    extents = [digit.extent for digit in digits]
    inner = inner_extents(digits)
    own: tuple[Condition, ...] = ()
    common: tuple[Condition, ...] = ()
    if layout.role != "flat" and layout.channels != layout.shape[1]:
        channel = tuple(inner[place] * (digits[place].dimension == 1) for place in range(rank))
        first = next(place for place, digit in enumerate(digits) if digit.dimension == 1)
        extents[first] = -(-layout.channels // inner[first])
        common = (Condition(channel, 0, layout.shape[1]),)
        own = (Condition(channel, 0, layout.channels),)
    order = list(range(rank))
    if layout.role != "flat":
        order.sort(key=lambda place: digits[place].dimension == 1)
    pieces = [
        Piece(
            source.info,
            source.strides,
            source.offset,
            common
            + source.conditions
            + tuple(
                Condition(tuple(int(place == digit) for place in range(rank)), -first, extent)
                for digit, first, extent in source.ranges
            ),
        )
        for source in sources
    ]
    target = Piece(info, result_strides(layout, digits), 0, own)
    copying = Copying(tuple(extents), tuple(pieces), (target,), ITEM_BYTES[layout.dtype], fill)
    return copying.selected(tuple(extents[place] for place in order), order)


def reshaped(source: Layout, result: Layout) -> tuple[list[Digit], tuple[int, ...]] | None:
    """(digits of the result, strides in the source) of a reshape; None where the two shapes share no
    factors.
    """
    before, after = cuts(source.shape), cuts(result.shape)
    marks = sorted({*before, *after}, reverse=True)
    if any(high % low for high, low in pairwise(marks)):
        return None
    strides = steps_of(source)
    found: dict[int, list[tuple[int, int]]] = {dimension: [] for dimension in range(len(result.shape))}
    for high, low in pairwise(marks):
        origin = holder(source.shape, low, high)
        step = strides[origin] * (low // prod(source.shape[origin + 1 :]))
        found[holder(result.shape, low, high)].append((high // low, step))
    digits: list[Digit] = []
    steps: list[int] = []
    for dimension, parts in found.items():
        for extent, step in parts or [(1, 0)]:
            digits.append(Digit(dimension, extent))
            steps.append(step)
    return digits, tuple(steps)


def cuts(shape: tuple[int, ...]) -> list[int]:
    """Elements from each dimension on: the places where one ends."""
    return [prod(shape[place:]) for place in range(len(shape) + 1)]


def holder(shape: tuple[int, ...], low: int, high: int) -> int:
    """The dimension that holds the digit between two cuts."""
    return next(
        place
        for place in range(len(shape))
        if prod(shape[place + 1 :]) <= low and high <= prod(shape[place:]) and shape[place] > 1
    )


def is_view(source: Layout, result: Layout) -> bool:
    """Whether a reshape leaves every element where it is."""
    if prod(source.shape) != prod(result.shape) or source.dtype != result.dtype:
        return False
    if source.role == result.role == "flat":
        return True
    plan = reshaped(source, result)
    if plan is None or source.elements != result.elements:
        return False
    digits, steps = plan
    own = result_strides(result, digits)
    return all(
        digit.extent == 1 or step == stride for digit, step, stride in zip(digits, steps, own, strict=True)
    )

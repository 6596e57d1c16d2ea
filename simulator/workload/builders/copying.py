"""What a data movement copies: a walk over digits, and for every tensor how the walk's position becomes an
element of it.

Transposition, reshape between layouts, concat, slice, split, pad, expansion, nearest upsampling and im2col
are all of this form: element = sum of digit * stride + offset, where some sums of digits lie within a range.
Neighbouring digits that step evenly are one digit, so that a copy of whole tensors is one long run.
"""

from dataclasses import dataclass, replace
from math import prod

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.layout import VECTOR_BYTES


@dataclass(frozen=True, slots=True)
class Condition:
    """0 <= sum of step * digit + offset < extent."""

    steps: tuple[int, ...]
    offset: int
    extent: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One tensor of a copy: strides in elements, a digit each; the conditions say where it takes part."""

    info: TensorInfo
    strides: tuple[int, ...]
    offset: int = 0
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Copying:
    """A copy: extents of the digits, the last one fastest; elements without a source become the word `fill`
    (None: every element has one).
    """

    extents: tuple[int, ...]
    sources: tuple[Piece, ...]
    targets: tuple[Piece, ...]
    item_bytes: int
    fill: int | None = None

    def __post_init__(self) -> None:
        for piece in self.pieces:
            if len(piece.strides) != len(self.extents):
                raise InputError(
                    piece.info.name, "strides and extents differ in number", "one stride a digit"
                )

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All tensors."""
        return self.sources + self.targets

    @property
    def elements(self) -> int:
        """Positions of the walk."""
        return prod(self.extents)

    @property
    def contiguous(self) -> tuple[int, ...]:
        """The strides of a tensor that lies in the walk's order."""
        return tuple(prod(self.extents[index + 1 :]) for index in range(len(self.extents)))

    @property
    def plain(self) -> bool:
        """One source, one target, every element of both."""
        conditions = any(piece.conditions for piece in self.pieces)
        return len(self.sources) == len(self.targets) == 1 and not conditions

    def simplified(self) -> "Copying":
        """The same copy with as few digits as possible; conditions that always hold are dropped."""
        kept = replace(
            self,
            sources=tuple(self.relevant(piece) for piece in self.sources),
            targets=tuple(self.relevant(piece) for piece in self.targets),
        )
        return kept.without_units().merged()

    def relevant(self, piece: Piece) -> Piece:
        """The piece without conditions that hold everywhere."""
        kept = []
        for condition in piece.conditions:
            low = high = condition.offset
            for step, extent in zip(condition.steps, self.extents, strict=True):
                low += min(0, step * (extent - 1))
                high += max(0, step * (extent - 1))
            if low < 0 or high >= condition.extent:
                kept.append(condition)
        return replace(piece, conditions=tuple(kept))

    def without_units(self) -> "Copying":
        """Without digits that have one value only; one digit stays."""
        wide = [index for index, extent in enumerate(self.extents) if extent > 1] or [0]
        return self.selected(tuple(self.extents[index] for index in wide), wide)

    def selected(self, extents: tuple[int, ...], order: list[int]) -> "Copying":
        """With these digits of the old ones, by number."""
        return replace(
            self,
            extents=extents,
            sources=tuple(chosen(piece, order) for piece in self.sources),
            targets=tuple(chosen(piece, order) for piece in self.targets),
        )

    def merged(self) -> "Copying":
        """With each digit that continues its right neighbour joined to it."""
        extents = list(self.extents)
        order = list(range(len(extents)))
        for outer in range(len(extents) - 2, -1, -1):
            inner = order[order.index(outer) + 1]
            if all(
                row[outer] == row[inner] * extents[inner]
                for piece in self.pieces
                for row in (piece.strides, *(condition.steps for condition in piece.conditions))
            ):
                extents[inner] *= extents[outer]
                order.remove(outer)
        return self.selected(tuple(extents[index] for index in order), order)

    def lanes(self) -> int:
        """Elements of the widest access that fits every tensor's strides, offsets and conditions."""
        most = VECTOR_BYTES // self.item_bytes
        numbers = [self.extents[-1]]
        for piece in self.pieces:
            if piece.strides[-1] != 1:
                return 1
            numbers += [*piece.strides[:-1], piece.offset]
            for condition in piece.conditions:
                if condition.steps[-1]:
                    numbers += [*condition.steps[:-1], condition.offset, condition.extent]
                    most = most if condition.steps[-1] == 1 else 1
        while any(number % most for number in numbers):
            most //= 2
        return most

    def in_vectors(self, lanes: int) -> "Copying":
        """The last digit counts vectors instead of elements; strides stay in elements."""
        return replace(
            self,
            extents=(*self.extents[:-1], self.extents[-1] // lanes),
            sources=tuple(widened(piece, lanes) for piece in self.sources),
            targets=tuple(widened(piece, lanes) for piece in self.targets),
        )


def chosen(piece: Piece, order: list[int]) -> Piece:
    """A piece with some of its digits."""
    return replace(
        piece,
        strides=tuple(piece.strides[index] for index in order),
        conditions=tuple(
            replace(condition, steps=tuple(condition.steps[index] for index in order))
            for condition in piece.conditions
        ),
    )


def widened(piece: Piece, lanes: int) -> Piece:
    """A piece whose last digit steps by a vector."""
    return replace(
        piece,
        strides=(*piece.strides[:-1], piece.strides[-1] * lanes),
        conditions=tuple(
            replace(one, steps=(*one.steps[:-1], one.steps[-1] * lanes)) for one in piece.conditions
        ),
    )

"""The tensor-core inner loops: fragments from the shared tiles, products into accumulators, accumulators to
the shared output tile.

A warp computes half the tile's rows by half its columns. Two shapes: 16 × 8 × 16 with matrix loads (A100,
H100), and 8 × 8 × 4 by quad pairs with ordinary shared loads (V100), where each product is four step
instructions that make two accumulators a lane each. Warp-group products of Hopper are not modelled.
"""

from typing import Protocol

from hwmodels.operations import Operation
from simulator.workload.affine import Index
from simulator.workload.builders.geometry import COLUMNS, PAIR_BYTES
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Part

OUT_PITCH = PAIR_BYTES  # a row of 64 halves and 16 bytes of skew
WARP_COLUMNS = COLUMNS // 2


class Matrix(Protocol):
    """What the convolution builder needs of an inner loop."""

    def begin(self, thread: Scalar) -> None:
        """Set up read addresses."""

    def clear(self) -> None:
        """Zero the accumulators."""

    def multiply(self, stage: Scalar | None) -> None:
        """Multiply the tiles of a stage (its byte offset; None: the first) into the accumulators."""

    def accumulators(self) -> list[Part]:
        """The sums, as register groups."""

    def deposit(self, thread: Scalar) -> None:
        """Round the accumulators to halves and store them in the shared output tile."""


class FragmentAddresses:
    """Shared addresses of a lane's fragments of both tiles, and the move to a stage."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter

    def split(self, thread: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """(lane, row half, column half) of a thread."""
        emitter = self.emitter
        lane = emitter.remainder(thread, 32, name="lane")
        warp = emitter.divide(thread, 32, "warp")
        return lane, emitter.divide(warp, 2), emitter.remainder(warp, 2)

    def sum(self, terms: list[tuple[Scalar, int]], constant: int, name: str) -> Scalar:
        """Weighted sum of registers."""
        value: Scalar | int = constant
        for term, weight in terms:
            value = self.emitter.multiply_add(term, weight, value, name)
        if isinstance(value, int):
            return Scalar(self.emitter.constant(value, name), Index(value))
        return value

    def moved(self, address: Scalar, stage: Scalar | None) -> Scalar:
        """The address within a stage."""
        return address if stage is None else self.emitter.add(address, stage)


def store_pair(emitter: Emitter, place: Scalar, offset: int, cells: Part, tensor: int) -> None:
    """Round two neighbouring accumulators and store them as one word."""
    packed = emitter.fresh(1, "rounded")
    emitter.op(Operation.CONVERT, Effect.PACK, (packed,), (cells[0], cells[1]), dst_tensor=tensor)
    emitter.store(place, packed, offset, tensor=tensor)

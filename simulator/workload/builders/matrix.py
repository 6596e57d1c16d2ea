"""The tensor-core inner loops: fragments from the shared tiles, products into accumulators, accumulators to
the shared output tile.

A warp computes half the tile's rows by half its columns. Two shapes: 16 × 8 × 16 with matrix loads (A100,
H100), and 8 × 8 × 4 by quad pairs with ordinary shared loads (V100), where each product is four step
instructions that make two accumulators a lane each. Warp-group products of Hopper are not modelled.
"""

from typing import Protocol

from hwmodels.operations import Operation
from simulator.workload.affine import Index
from simulator.workload.builders.geometry import COLUMNS, DEPTH, PAIR_BYTES, Tile
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

    def deposit(self, thread: Scalar) -> None:
        """Round the accumulators to halves and store them in the shared output tile."""


class FragmentAddresses:
    """Shared addresses of a lane's fragments of both tiles, and the move to a stage."""

    def __init__(self, emitter: Emitter, tile: Tile) -> None:
        self.emitter = emitter
        self.tile = tile

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


class Matrix16816:
    """16 × 8 × 16 products from matrix loads; the fragments of the next half tile are loaded before they are
    needed.
    """

    def __init__(self, emitter: Emitter, tile: Tile, pixels: int, filters: int, result: int) -> None:
        self.emitter = emitter
        self.tile = tile
        self.tensors = (pixels, filters, result)
        self.addresses = FragmentAddresses(emitter, tile)
        self.row_steps = tile.warp_rows // 16
        self.column_steps = WARP_COLUMNS // 8

    def begin(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        odd = emitter.remainder(lane, 2)
        pair = emitter.remainder(emitter.divide(lane, 2), 8)
        high = emitter.divide(lane, 16)
        warp_bytes = self.tile.warp_rows // 2 * PAIR_BYTES
        self.row_place = self.addresses.sum(
            [(pair, PAIR_BYTES), (odd, 2 * DEPTH), (high, 16), (row_half, warp_bytes)], 0, "pixel fragment"
        )
        low_pair = emitter.remainder(emitter.divide(lane, 2), 4)
        middle = emitter.remainder(emitter.divide(lane, 8), 2)
        self.column_place = self.addresses.sum(
            [
                (low_pair, PAIR_BYTES),
                (odd, 2 * DEPTH),
                (middle, 16),
                (high, 4 * PAIR_BYTES),
                (column_half, WARP_COLUMNS // 2 * PAIR_BYTES),
            ],
            self.tile.row_bytes,
            "filter fragment",
        )

    def clear(self) -> None:
        self.sums = [
            [self.emitter.constant(0, "accumulator", 4) for _ in range(self.column_steps)]
            for _ in range(self.row_steps)
        ]

    def multiply(self, stage: Scalar | None) -> None:
        rows = self.addresses.moved(self.row_place, stage)
        columns = self.addresses.moved(self.column_place, stage)
        fragments = [self.fragments(rows, columns, half) for half in range(DEPTH // 16)]
        for left, right in fragments:
            for row, quad in enumerate(left):
                for column in range(self.column_steps):
                    pair = right[column // 2].cut(column % 2 * 2, 2)
                    total = self.sums[row][column]
                    self.emitter.op(
                        Operation.HMMA_16816_F32,
                        Effect.MATRIX_16816,
                        (total,),
                        (quad, pair, total),
                        dst_tensor=self.tensors[2],
                        src_tensors=(self.tensors[0], self.tensors[1], -1),
                    )

    def fragments(self, rows: Scalar, columns: Scalar, half: int) -> tuple[list[Part], list[Part]]:
        """The warp's fragments of one half of the depth tile."""
        pixels, filters, _ = self.tensors
        left = [
            self.emitter.load_matrix(rows, step * 8 * PAIR_BYTES + 32 * half, pixels, "pixel fragment")
            for step in range(self.row_steps)
        ]
        right = [
            self.emitter.load_matrix(columns, step * 8 * PAIR_BYTES + 32 * half, filters, "filter fragment")
            for step in range(self.column_steps // 2)
        ]
        return left, right

    def deposit(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        member = emitter.remainder(lane, 4)
        group = emitter.divide(lane, 4)
        place = self.addresses.sum(
            [
                (group, OUT_PITCH),
                (member, 4),
                (row_half, self.tile.warp_rows * OUT_PITCH),
                (column_half, 2 * WARP_COLUMNS),
            ],
            0,
            "output place",
        )
        for row in range(self.row_steps):
            for column in range(self.column_steps):
                for half in range(2):
                    cells = self.sums[row][column].cut(2 * half, 2)
                    offset = (16 * row + 8 * half) * OUT_PITCH + 16 * column
                    store_pair(emitter, place, offset, cells, self.tensors[2])


class Matrix884:
    """8 × 8 × 4 products of four quad pairs, arranged two by two into 16 × 16 × 4."""

    def __init__(self, emitter: Emitter, tile: Tile, pixels: int, filters: int, result: int) -> None:
        self.emitter = emitter
        self.tile = tile
        self.tensors = (pixels, filters, result)
        self.addresses = FragmentAddresses(emitter, tile)
        self.row_steps = tile.warp_rows // 16
        self.column_steps = WARP_COLUMNS // 16

    def begin(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        odd = emitter.remainder(lane, 2)
        high = emitter.divide(lane, 16)
        halved = emitter.divide(lane, 2)
        # Lanes 0–7 read eight neighbouring rows, so that their 16 bytes meet no bank twice.
        self.row_place = self.addresses.sum(
            [
                (emitter.remainder(halved, 4), PAIR_BYTES),
                (odd, 2 * DEPTH),
                (high, 4 * PAIR_BYTES),
                (row_half, self.tile.warp_rows // 2 * PAIR_BYTES),
            ],
            0,
            "pixel fragment",
        )
        self.column_place = self.addresses.sum(
            [
                (emitter.remainder(halved, 2), PAIR_BYTES),
                (odd, 2 * DEPTH),
                (emitter.remainder(emitter.divide(lane, 8), 2), 2 * PAIR_BYTES),
                (high, 4 * PAIR_BYTES),
                (column_half, WARP_COLUMNS // 2 * PAIR_BYTES),
            ],
            self.tile.row_bytes,
            "filter fragment",
        )

    def clear(self) -> None:
        self.sums = [
            [[self.emitter.constant(0, "accumulator", 2) for _ in range(4)] for _ in range(self.column_steps)]
            for _ in range(self.row_steps)
        ]

    def multiply(self, stage: Scalar | None) -> None:
        rows = self.addresses.moved(self.row_place, stage)
        columns = self.addresses.moved(self.column_place, stage)
        for chunk in range(DEPTH // 8):
            left = self.fragments(rows, chunk, self.row_steps, self.tensors[0], "pixel fragment")
            right = self.fragments(columns, chunk, self.column_steps, self.tensors[1], "filter fragment")
            for half in range(2):
                self.products(
                    [quad.cut(2 * half, 2) for quad in left], [quad.cut(2 * half, 2) for quad in right]
                )

    def fragments(self, place: Scalar, chunk: int, steps: int, tensor: int, name: str) -> list[Part]:
        """Eight halves of depth for each of the lane's rows."""
        return [
            self.emitter.load(place, 4, step * 8 * PAIR_BYTES + 16 * chunk, tensor=tensor, name=name)
            for step in range(steps)
        ]

    def products(self, left: list[Part], right: list[Part]) -> None:
        """All products of one depth of four."""
        for row, first in enumerate(left):
            for column, second in enumerate(right):
                for step in range(4):
                    total = self.sums[row][column][step]
                    self.emitter.op(
                        Operation.HMMA_884_F32,
                        Effect.MATRIX_884,
                        (total,),
                        (first, second, total),
                        (step,),
                        dst_tensor=self.tensors[2],
                        src_tensors=(self.tensors[0], self.tensors[1], -1),
                    )

    def deposit(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        place = self.addresses.sum(
            [
                (emitter.remainder(lane, 2), OUT_PITCH),
                (emitter.remainder(emitter.divide(lane, 4), 2), 4 * OUT_PITCH),
                (emitter.divide(lane, 16), 8 * OUT_PITCH),
                (emitter.remainder(emitter.divide(lane, 2), 2), 4),
                (emitter.remainder(emitter.divide(lane, 8), 2), 8),
                (row_half, self.tile.warp_rows * OUT_PITCH),
                (column_half, 2 * WARP_COLUMNS),
            ],
            0,
            "output place",
        )
        for row in range(self.row_steps):
            for column in range(self.column_steps):
                for step in range(4):
                    offset = (16 * row + 2 * (step % 2)) * OUT_PITCH + 32 * column + 16 * (step // 2)
                    store_pair(emitter, place, offset, self.sums[row][column][step], self.tensors[2])


def store_pair(emitter: Emitter, place: Scalar, offset: int, cells: Part, tensor: int) -> None:
    """Round two neighbouring accumulators and store them as one word."""
    packed = emitter.fresh(1, "rounded")
    emitter.op(Operation.CONVERT, Effect.PACK, (packed,), (cells[0], cells[1]), dst_tensor=tensor)
    emitter.store(place, packed, offset, tensor=tensor)

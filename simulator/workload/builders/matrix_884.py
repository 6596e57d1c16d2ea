"""Inner loop of 8 × 8 × 4 products by quad pairs with ordinary shared loads: V100. A product is four step
instructions, each of which makes two accumulators a lane.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.geometry import COLUMNS, DEPTH, PAIR_BYTES, Tile, turned_pitch
from simulator.workload.builders.matrix import OUT_PITCH, WARP_COLUMNS, FragmentAddresses, store_pair
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Part


class Matrix884:
    """8 × 8 × 4 products of four quad pairs, arranged two by two into 16 × 16 × 4."""

    def __init__(
        self,
        emitter: Emitter,
        tile: Tile,
        pixels: int,
        filters: int,
        result: int,
        turned: tuple[bool, bool] = (False, False),
    ) -> None:
        self.emitter = emitter
        self.turned = turned
        self.pitches = (turned_pitch(tile.rows, 2), turned_pitch(COLUMNS, 2))
        self.tile = tile
        self.tensors = (pixels, filters, result)
        self.addresses = FragmentAddresses(emitter)
        self.row_steps = tile.warp_rows // 16
        self.column_steps = WARP_COLUMNS // 16

    def begin(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        high = emitter.divide(lane, 16)
        if self.turned[0] or self.turned[1]:
            member = emitter.remainder(lane, 4)
        if not (self.turned[0] and self.turned[1]):
            odd = emitter.remainder(lane, 2)
            halved = emitter.divide(lane, 2)
        if self.turned[0]:
            second = emitter.remainder(emitter.divide(lane, 4), 2)
            rows = [(member, self.pitches[0]), (second, 8), (high, 16), (row_half, 2 * self.tile.warp_rows)]
        else:
            # Lanes 0–7 read eight neighbouring rows, so that their 16 bytes meet no bank twice.
            rows = [(emitter.remainder(halved, 4), PAIR_BYTES), (odd, 2 * DEPTH), (high, 4 * PAIR_BYTES)]
            rows.append((row_half, self.tile.warp_rows // 2 * PAIR_BYTES))
        self.row_place = self.addresses.sum(rows, 0, "row fragment")
        if self.turned[1]:
            third = emitter.remainder(emitter.divide(lane, 8), 2)
            columns = [(member, self.pitches[1]), (third, 8), (high, 16), (column_half, 2 * WARP_COLUMNS)]
        else:
            columns = [
                (emitter.remainder(halved, 2), PAIR_BYTES),
                (odd, 2 * DEPTH),
                (emitter.remainder(emitter.divide(lane, 8), 2), 2 * PAIR_BYTES),
                (high, 4 * PAIR_BYTES),
                (column_half, WARP_COLUMNS // 2 * PAIR_BYTES),
            ]
        self.column_place = self.addresses.sum(columns, self.tile.row_bytes, "column fragment")

    def clear(self) -> None:
        self.sums = [
            [[self.emitter.constant(0, "accumulator", 2) for _ in range(4)] for _ in range(self.column_steps)]
            for _ in range(self.row_steps)
        ]

    def multiply(self, stage: Scalar | None) -> None:
        rows = self.addresses.moved(self.row_place, stage)
        columns = self.addresses.moved(self.column_place, stage)
        for chunk in range(DEPTH // 8):
            left = self.fragments(rows, chunk, self.row_steps, 0, "row fragment")
            right = self.fragments(columns, chunk, self.column_steps, 1, "column fragment")
            for half in range(2):
                self.products(left[half], right[half])

    def fragments(self, place: Scalar, chunk: int, steps: int, which: int, name: str) -> list[list[Part]]:
        """Eight depths of each of the lane's rows, as two lists of pairs of four depths each."""
        load, tensor = self.emitter.load, self.tensors[which]
        if self.turned[which]:
            starts = [(8 * chunk + 4 * half) * self.pitches[which] for half in range(2)]
            return [
                [load(place, 2, start + 32 * step, tensor=tensor, name=name) for step in range(steps)]
                for start in starts
            ]
        quads = [
            load(place, 4, step * 8 * PAIR_BYTES + 16 * chunk, tensor=tensor, name=name)
            for step in range(steps)
        ]
        return [[quad.cut(2 * half, 2) for quad in quads] for half in range(2)]

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
                        (step, *map(int, self.turned)),
                        dst_tensor=self.tensors[2],
                        src_tensors=(self.tensors[0], self.tensors[1], -1),
                    )

    def accumulators(self) -> list[Part]:
        return [total for row in self.sums for column in row for total in column]

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

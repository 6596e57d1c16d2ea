"""Inner loop of 16 × 8 × 16 products with matrix loads from shared memory: A100, and H100 without warp
groups.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.geometry import COLUMNS, DEPTH, PAIR_BYTES, Tile, turned_pitch
from simulator.workload.builders.matrix import OUT_PITCH, WARP_COLUMNS, FragmentAddresses, store_pair
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Part


class Matrix16816:
    """16 × 8 × 16 products from matrix loads; the fragments of the next half tile are loaded before they are
    needed.
    """

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
        self.column_steps = WARP_COLUMNS // 8

    def begin(self, thread: Scalar) -> None:
        emitter = self.emitter
        lane, row_half, column_half = self.addresses.split(thread)
        high = emitter.divide(lane, 16)
        if self.turned[0] or self.turned[1]:
            eighth, middle = emitter.remainder(lane, 8), emitter.remainder(emitter.divide(lane, 8), 2)
        if not (self.turned[0] and self.turned[1]):
            odd = emitter.remainder(lane, 2)
        if self.turned[0]:
            rows = [(eighth, self.pitches[0]), (high, 8 * self.pitches[0]), (middle, 16)]
            rows.append((row_half, 2 * self.tile.warp_rows))
        else:
            pair = emitter.remainder(emitter.divide(lane, 2), 8)
            warp_bytes = self.tile.warp_rows // 2 * PAIR_BYTES
            rows = [(pair, PAIR_BYTES), (odd, 2 * DEPTH), (high, 16), (row_half, warp_bytes)]
        self.row_place = self.addresses.sum(rows, 0, "row fragment")
        if self.turned[1]:
            columns = [(eighth, self.pitches[1]), (middle, 8 * self.pitches[1]), (high, 16)]
            columns.append((column_half, 2 * WARP_COLUMNS))
        else:
            low_pair = emitter.remainder(emitter.divide(lane, 2), 4)
            middle = emitter.remainder(emitter.divide(lane, 8), 2)
            columns = [(low_pair, PAIR_BYTES), (odd, 2 * DEPTH), (middle, 16), (high, 4 * PAIR_BYTES)]
            columns.append((column_half, WARP_COLUMNS // 2 * PAIR_BYTES))
        self.column_place = self.addresses.sum(columns, self.tile.row_bytes, "column fragment")

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
        left = [self.fragment(rows, step, half, 0, pixels, "row fragment") for step in range(self.row_steps)]
        right = [
            self.fragment(columns, step, half, 1, filters, "column fragment")
            for step in range(self.column_steps // 2)
        ]
        return left, right

    def fragment(self, place: Scalar, step: int, half: int, which: int, tensor: int, name: str) -> Part:
        """16 rows (or columns) by 16 depths of one operand."""
        if self.turned[which]:
            offset = 32 * step + 16 * half * self.pitches[which]
            return self.emitter.load_matrix(place, offset, tensor, name, transposed=True)
        return self.emitter.load_matrix(place, step * 8 * PAIR_BYTES + 32 * half, tensor, name)

    def accumulators(self) -> list[Part]:
        return [total for row in self.sums for total in row]

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

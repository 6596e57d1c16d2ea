"""Inner loop of single-precision multiply-adds: every thread holds an 8 × 8 (or 4 × 8) part of the tile in
registers and reads both tiles from shared memory four depths at a time.

A thread's rows lie 16 apart and its columns 8 apart, so that neighbouring lanes read neighbouring tile rows
without bank conflicts; where a tile lies along its rows (or columns), it reads four neighbours at a time. The
next column's fragment is loaded before the current one is used.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.geometry import COLUMNS, PAIR_BYTES, ROW_BYTES, Tile, turned_pitch
from simulator.workload.builders.matrix import FragmentAddresses
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Part

ROW_GROUPS, COLUMN_GROUPS = 16, 8
QUAD = 4
FLOAT_BYTES = 4
OUT_PITCH = COLUMNS * FLOAT_BYTES + 32
Cells = dict[tuple[int, int], Part]


class MatrixFma:
    """Multiply-adds on fragments of 16 bytes along the depth."""

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
        self.tile = tile
        self.turned = turned
        self.tensors = (pixels, filters, result)
        self.addresses = FragmentAddresses(emitter)
        self.groups = (ROW_GROUPS, COLUMN_GROUPS)
        self.pitches = (turned_pitch(tile.rows, FLOAT_BYTES), turned_pitch(COLUMNS, FLOAT_BYTES))
        self.steps = (tile.rows // ROW_GROUPS, COLUMNS // COLUMN_GROUPS)

    def split(self, thread: Scalar) -> tuple[Scalar, Scalar]:
        """(row group, column group) of a thread."""
        emitter = self.emitter
        return emitter.divide(thread, COLUMN_GROUPS, "row"), emitter.remainder(thread, COLUMN_GROUPS)

    def line(self, which: int, step: int) -> int:
        """How far the `step`-th row (or column) of a thread lies from its first."""
        if self.turned[which]:
            return step // QUAD * QUAD * self.groups[which] + step % QUAD
        return step * self.groups[which]

    def begin(self, thread: Scalar) -> None:
        row, column = self.split(thread)
        self.row_place = self.place(row, 0, 0, "row fragment")
        self.column_place = self.place(column, 1, self.tile.row_bytes, "column fragment")

    def place(self, group: Scalar, which: int, start: int, name: str) -> Scalar:
        """Shared address of a group's first fragment."""
        if self.turned[which]:
            return self.addresses.sum([(group, QUAD * FLOAT_BYTES)], start, name)
        pair, odd = self.emitter.divide(group, 2), self.emitter.remainder(group, 2)
        return self.addresses.sum([(pair, PAIR_BYTES), (odd, ROW_BYTES)], start, name)

    def clear(self) -> None:
        self.sums = [
            [self.emitter.constant(0, "accumulator", QUAD) for _ in range(self.steps[1] // QUAD)]
            for _ in range(self.steps[0])
        ]

    def multiply(self, stage: Scalar | None) -> None:
        rows = self.addresses.moved(self.row_place, stage)
        columns = self.addresses.moved(self.column_place, stage)
        pieces = [
            piece for chunk in range(ROW_BYTES // (QUAD * FLOAT_BYTES)) for piece in self.pieces(1, chunk)
        ]
        left: Cells = {}
        following = self.load(columns, 1, pieces[0])
        for number, piece in enumerate(pieces):
            right = following
            for needed in self.pieces(0, min(cell[1] for cell in piece) // QUAD):
                # Rows that lie along the depth come four depths at a time; others a depth at a time, unless
                # columns want all four.
                if any(key not in left for key in needed) and (
                    not (self.turned[0] and self.turned[1]) or needed[0][1] == piece[0][1]
                ):
                    left.update(self.load(rows, 0, needed))
            if number + 1 < len(pieces):
                following = self.load(columns, 1, pieces[number + 1])
            self.products(left, right)

    def pieces(self, which: int, chunk: int) -> list[list[tuple[int, int]]]:
        """What each load of four depths of an operand brings: (row or column, depth) of four words."""
        depths = range(QUAD * chunk, QUAD * chunk + QUAD)
        if self.turned[which]:
            quads = range(0, self.steps[which], QUAD)
            return [[(first + one, depth) for one in range(QUAD)] for depth in depths for first in quads]
        return [[(line, depth) for depth in depths] for line in range(self.steps[which])]

    def load(self, place: Scalar, which: int, piece: list[tuple[int, int]]) -> Cells:
        """One fragment of 16 bytes."""
        step, depth = piece[0]
        if self.turned[which]:
            offset = self.line(which, step) * FLOAT_BYTES + depth * self.pitches[which]
        else:
            offset = self.line(which, step) // 2 * PAIR_BYTES + FLOAT_BYTES * depth
        name = ("row fragment", "column fragment")[which]
        quad = self.emitter.load(place, QUAD, offset, tensor=self.tensors[which], name=name)
        return {key: quad[word] for word, key in enumerate(piece)}

    def products(self, left: Cells, right: Cells) -> None:
        """Every row by one fragment of columns."""
        for (column, depth), second in right.items():
            for row in range(self.steps[0]):
                total = self.sums[row][column // QUAD][column % QUAD]
                self.emitter.op(
                    Operation.FFMA,
                    Effect.FLOAT_FUSED,
                    (total,),
                    (left[row, depth], second, total),
                    dst_tensor=self.tensors[2],
                    src_tensors=(self.tensors[0], self.tensors[1], -1),
                )

    def accumulators(self) -> list[Part]:
        return [total for row in self.sums for total in row]

    def deposit(self, thread: Scalar) -> None:
        emitter = self.emitter
        row, column = self.split(thread)
        row_bytes = OUT_PITCH * (QUAD if self.turned[0] else 1)
        column_bytes = FLOAT_BYTES * (QUAD if self.turned[1] else 1)
        place = emitter.multiply_add(
            row, row_bytes, emitter.multiply_add(column, column_bytes), "output place"
        )
        width = QUAD if self.turned[1] else 1
        for step in range(self.steps[0]):
            for index in range(0, self.steps[1], width):
                offset = self.line(0, step) * OUT_PITCH + self.line(1, index) * FLOAT_BYTES
                cells = self.sums[step][index // QUAD].cut(index % QUAD, width)
                emitter.store(place, cells, offset, tensor=self.tensors[2])

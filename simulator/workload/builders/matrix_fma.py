"""Inner loop of single-precision multiply-adds: every thread holds an 8 × 8 (or 4 × 8) part of the tile in
registers and reads both tiles from shared memory four depths at a time.

A thread's rows lie 16 apart and its columns 8 apart, so that neighbouring lanes read neighbouring tile rows
without bank conflicts. The next column's fragment is loaded before the current one is used.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.geometry import COLUMNS, PAIR_BYTES, ROW_BYTES, Tile
from simulator.workload.builders.matrix import FragmentAddresses
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Part

ROW_GROUPS, COLUMN_GROUPS = 16, 8
QUAD = 4
FLOAT_BYTES = 4
OUT_PITCH = COLUMNS * FLOAT_BYTES + 32


class MatrixFma:
    """Multiply-adds on fragments of 16 bytes along the depth."""

    def __init__(self, emitter: Emitter, tile: Tile, pixels: int, filters: int, result: int) -> None:
        self.emitter = emitter
        self.tile = tile
        self.tensors = (pixels, filters, result)
        self.addresses = FragmentAddresses(emitter)
        self.row_steps = tile.rows // ROW_GROUPS
        self.column_steps = COLUMNS // COLUMN_GROUPS

    def groups(self, thread: Scalar) -> tuple[Scalar, Scalar]:
        """(first row, first column) of a thread."""
        emitter = self.emitter
        return emitter.divide(thread, COLUMN_GROUPS, "row"), emitter.remainder(thread, COLUMN_GROUPS)

    def begin(self, thread: Scalar) -> None:
        row, column = self.groups(thread)
        self.row_place = self.place(row, 0, "row fragment")
        self.column_place = self.place(column, self.tile.row_bytes, "column fragment")

    def place(self, row: Scalar, start: int, name: str) -> Scalar:
        """Shared address of a tile row."""
        pair, odd = self.emitter.divide(row, 2), self.emitter.remainder(row, 2)
        return self.addresses.sum([(pair, PAIR_BYTES), (odd, ROW_BYTES)], start, name)

    def clear(self) -> None:
        self.sums = [
            [self.emitter.constant(0, "accumulator", QUAD) for _ in range(self.column_steps // QUAD)]
            for _ in range(self.row_steps)
        ]

    def multiply(self, stage: Scalar | None) -> None:
        rows = self.addresses.moved(self.row_place, stage)
        columns = self.addresses.moved(self.column_place, stage)
        chunks = ROW_BYTES // (QUAD * FLOAT_BYTES)
        following = self.column_fragment(columns, 0, 0)
        for chunk in range(chunks):
            left = [
                self.emitter.load(
                    rows,
                    QUAD,
                    step * ROW_GROUPS // 2 * PAIR_BYTES + 16 * chunk,
                    tensor=self.tensors[0],
                    name="row fragment",
                )
                for step in range(self.row_steps)
            ]
            for column in range(self.column_steps):
                right = following
                after, wrap = (column + 1) % self.column_steps, (column + 1) // self.column_steps
                if chunk + wrap < chunks:
                    following = self.column_fragment(columns, after, chunk + wrap)
                self.products(left, right, column)

    def column_fragment(self, place: Scalar, step: int, chunk: int) -> Part:
        """Four depths of one column."""
        offset = step * COLUMN_GROUPS // 2 * PAIR_BYTES + 16 * chunk
        return self.emitter.load(place, QUAD, offset, tensor=self.tensors[1], name="column fragment")

    def products(self, left: list[Part], right: Part, column: int) -> None:
        """Four depths of one column of the thread's part."""
        for depth in range(QUAD):
            for row, quad in enumerate(left):
                total = self.sums[row][column // QUAD][column % QUAD]
                self.emitter.op(
                    Operation.FFMA,
                    Effect.FLOAT_FUSED,
                    (total,),
                    (quad[depth], right[depth], total),
                    dst_tensor=self.tensors[2],
                    src_tensors=(self.tensors[0], self.tensors[1], -1),
                )

    def deposit(self, thread: Scalar) -> None:
        emitter = self.emitter
        row, column = self.groups(thread)
        place = emitter.multiply_add(
            row, OUT_PITCH, emitter.multiply_add(column, FLOAT_BYTES), "output place"
        )
        for step in range(self.row_steps):
            for index in range(self.column_steps):
                offset = step * ROW_GROUPS * OUT_PITCH + index * COLUMN_GROUPS * FLOAT_BYTES
                cell = self.sums[step][index // QUAD][index % QUAD]
                emitter.store(place, cell, offset, tensor=self.tensors[2])

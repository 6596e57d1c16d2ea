"""Tiles of attention in shared memory: asynchronous copies of 64 rows of a head, the fragments that tensor
cores read from them, and the way of the outputs back.

A tile's row is a row of the head, 16 bytes apart from the next; keys and queries are read as they lie, values
transposed.
"""

from simulator.workload.affine import Index
from simulator.workload.builders.attention import ELEMENT_BYTES, ROWS, Attention, Heads
from simulator.workload.builders.geometry import THREADS
from simulator.workload.builders.product import batch_offset
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Part

CHUNK = 8  # halves of one copy


class HeadCopies:
    """The copies of one tensor's rows: each thread takes a chunk of every few rows."""

    def __init__(self, emitter: Emitter, shape: Attention, heads: Heads, rows: int) -> None:
        self.emitter = emitter
        self.shape = shape
        self.heads = heads
        self.rows = rows
        self.tensor = emitter.tensor(heads.info)
        self.chunks = shape.width // CHUNK
        self.lines = THREADS // self.chunks

    def begin(self, thread: Scalar, head: Scalar, block: Scalar | None = None) -> None:
        """Set up; `block` is the tile where the first copy starts, the first one if none."""
        emitter = self.emitter
        chunk = emitter.remainder(thread, self.chunks, name="chunk")
        line = emitter.divide(thread, self.chunks, "line")
        self.place = emitter.multiply_add(
            line, self.shape.pitch, emitter.multiply_add(chunk, CHUNK * ELEMENT_BYTES), "copy place"
        )
        self.row = line if block is None else emitter.multiply_add(block, ROWS, line, "row")
        start = batch_offset(emitter, head, self.shape.batch, self.heads.batch)
        start = emitter.multiply_add(chunk, CHUNK, start)
        self.offset = emitter.multiply_add(self.row, self.heads.row, start, "offset")

    def moved(self, tile: Scalar) -> tuple[Scalar, Scalar]:
        """(row, offset) of the thread in a later tile."""
        emitter = self.emitter
        return (
            emitter.multiply_add(tile, ROWS, self.row, "row"),
            emitter.multiply_add(tile, ROWS * self.heads.row, self.offset, "offset"),
        )

    def fetch(self, start: int, tile: Scalar | None = None) -> None:
        """Copy a tile to shared bytes `start` on; rows that do not exist become zeros."""
        emitter = self.emitter
        row, offset = (self.row, self.offset) if tile is None else self.moved(tile)
        pointer = emitter.pointer(self.heads.info.base_address, offset, ELEMENT_BYTES)
        for line in range(0, ROWS, self.lines):
            here = emitter.add(row, line) if line else row
            flag = emitter.within(here, self.rows)
            emitter.copy_async(
                self.place,
                start + line * self.shape.pitch,
                pointer,
                CHUNK * ELEMENT_BYTES,
                flag,
                self.tensor,
                line * self.heads.row * ELEMENT_BYTES,
            )

    def write(self, start: int) -> None:
        """Store a tile from shared bytes `start` on to this tensor."""
        emitter = self.emitter
        pointer = emitter.pointer(self.heads.info.base_address, self.offset, ELEMENT_BYTES)
        for line in range(0, ROWS, self.lines):
            flag = None
            if self.rows % ROWS:
                flag = emitter.within(emitter.add(self.row, line) if line else self.row, self.rows)
            vector = emitter.load(
                self.place, 4, start + line * self.shape.pitch, tensor=self.tensor, name="output"
            )
            offset = line * self.heads.row * ELEMENT_BYTES
            emitter.store(pointer, vector, offset, flag, self.tensor)


class HeadFragments:
    """Shared addresses of a lane's fragments, and the loads; `tensors` are those of queries, keys, values."""

    def __init__(
        self, emitter: Emitter, shape: Attention, thread: Scalar, tensors: tuple[int, int, int]
    ) -> None:
        self.emitter = emitter
        self.shape = shape
        self.tensors = tensors
        pitch = shape.pitch
        lane = emitter.remainder(thread, 32, name="lane")
        warp = emitter.divide(thread, 32, "warp")
        half = emitter.divide(lane, 16)
        middle = emitter.remainder(emitter.divide(lane, 8), 2)
        eighth = emitter.remainder(lane, 8)
        sixteenth = emitter.remainder(lane, 16)
        own = emitter.multiply_add(warp, 16 * pitch, emitter.multiply_add(half, 16))
        self.query_place = emitter.multiply_add(sixteenth, pitch, own, "query fragment")
        keys = emitter.multiply_add(half, 8 * pitch, emitter.multiply_add(middle, 16))
        self.key_place = emitter.multiply_add(eighth, pitch, keys, "key fragment")
        values = emitter.multiply_add(middle, 8 * pitch, emitter.multiply_add(half, 16))
        self.value_place = emitter.multiply_add(eighth, pitch, values, "value fragment")
        group, self.member = emitter.divide(lane, 4), emitter.remainder(lane, 4)
        rows = emitter.multiply_add(warp, 16 * pitch, emitter.multiply_add(self.member, 4))
        self.output_place = emitter.multiply_add(group, pitch, rows, "output place")

    def queries(self, start: int) -> list[Part]:
        """16 queries by the whole width, a quad for every 16."""
        steps = range(self.shape.width // 16)
        return [
            self.emitter.load_matrix(self.query_place, start + 32 * step, self.tensors[0], "queries")
            for step in steps
        ]

    def keys(self, start: int, row: int, step: int) -> Part:
        """16 keys by 16 of the width."""
        offset = start + row * self.shape.pitch + 32 * step
        return self.emitter.load_matrix(self.key_place, offset, self.tensors[1], "keys")

    def values(self, start: int, row: int, step: int) -> Part:
        """16 keys' values by 16 of the width."""
        offset = start + row * self.shape.pitch + 32 * step
        return self.emitter.load_matrix(self.value_place, offset, self.tensors[2], "values", transposed=True)

    def key_index(self, tile: Index) -> Scalar:
        """The first of the lane's two neighbouring keys in a tile whose number is known."""
        low, high = tile.bounds()
        if low != high:
            raise ValueError("only a tile of known number has a tail")
        return self.emitter.multiply_add(self.member, 2, ROWS * low, "key")

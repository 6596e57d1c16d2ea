"""Images in channels-last memory as kernels of one pixel a thread see them: a thread holds one vector of
neighbouring channels, halves widened to single precision and rounded once at the end.

Used by pooling, resampling and local response normalisation. Consecutive threads take consecutive channels,
then consecutive pixels, so that a warp's accesses are whole lines where there are channels enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage, channel_parameters, load_others
from simulator.workload.builders.chain_arithmetic import apply, unpack
from simulator.workload.builders.digits import combined, digits_of
from simulator.workload.emit import INDEX_LIMIT, Emitter, Flag, Scalar
from simulator.workload.ir import Effect, Part, Special
from simulator.workload.layout import VECTOR_BYTES

THREADS = 128
LANES = 32
WARPS = THREADS // LANES
MAX_GRID = 65_535


@dataclass(frozen=True, slots=True)
class Pixels:
    """A stored image batch: extents in elements, channels as stored."""

    batch: int
    height: int
    width: int
    channels: int
    item_bytes: int

    @property
    def lanes(self) -> int:
        """Channels of one vector."""
        return min(VECTOR_BYTES // self.item_bytes, self.channels)

    @property
    def words(self) -> int:
        """Registers of one vector."""
        return self.lanes * self.item_bytes // 4

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Digits of a vector's position: image, row, column, vector of channels."""
        return self.batch, self.height, self.width, self.channels // self.lanes

    @property
    def vectors(self) -> int:
        """Vectors in all."""
        return prod(self.extents)

    @property
    def strides(self) -> tuple[int, int, int, int]:
        """Elements from one image, row, column, vector to the next."""
        row = self.width * self.channels
        return self.height * row, row, self.channels, self.lanes


class PixelThread:
    """The start of a kernel in which a thread makes one vector of a pixel: its digits (image, row, column,
    vector of channels), its predicate, and where its vector goes.
    """

    def __init__(self, name: str, operator: str, result: Pixels, *, rows_by_block: str = "") -> None:
        if result.vectors * result.lanes >= INDEX_LIMIT:
            raise InputError(name, "tensor exceeds 32-bit indices", "use a smaller batch")
        self.result = result
        self.operator = operator
        self.inside: Flag | None = None
        if rows_by_block and max(result.height, result.batch * self.passes) > MAX_GRID:
            raise InputError(name, "image exceeds the grid", f"at most {MAX_GRID} rows and images")
        self.emitter = Emitter(name, self.grid(rows_by_block), THREADS)
        with self.emitter.working_for(operator):
            thread = self.emitter.special(Special.THREAD)
            block = self.emitter.special(Special.BLOCK_X)
            if rows_by_block:
                self.row_wise(thread, block, by_warp=rows_by_block == "warps")
            else:
                self.in_a_row(thread, block)

    @property
    def passes(self) -> int:
        """Warps that one pixel takes where it has some of its own."""
        return -(-self.result.extents[3] // LANES)

    def grid(self, rows_by_block: str) -> tuple[int, int, int]:
        """Blocks for all vectors in a row; or for the vectors of one image row, by row and image; or for its
        pixels by warps.
        """
        result = self.result
        if not rows_by_block:
            return -(-result.vectors // THREADS), 1, 1
        if rows_by_block == "warps":
            return -(-result.width // WARPS), result.height, result.batch * self.passes
        return -(-result.width * result.extents[3] // THREADS), result.height, result.batch

    def in_a_row(self, thread: Scalar, block: Scalar) -> None:
        """All vectors in memory order."""
        self.index = self.emitter.multiply_add(block, THREADS, thread, "vector")
        self.scale = 4 * self.result.words
        if self.result.vectors % THREADS:
            self.inside = self.emitter.within(self.index, self.result.vectors)
        self.digits: list[Scalar] = digits_of(self.emitter, self.index, self.result.extents, [True] * 4)

    def row_wise(self, thread: Scalar, block: Scalar, *, by_warp: bool) -> None:
        """Image and row from the grid, so that closed forms of the row may be divided again; the column too
        where warps take pixels.
        """
        emitter, result = self.emitter, self.result
        row, image = emitter.special(Special.BLOCK_Y), emitter.special(Special.BLOCK_Z)
        chunks = result.extents[3]
        if by_warp:
            column = emitter.multiply_add(block, WARPS, emitter.divide(thread, LANES, "warp"), "column")
            chunk = emitter.remainder(thread, LANES, name="channels")
            if self.passes > 1:
                images = emitter.divide(image, self.passes, "image")
                number = emitter.remainder(image, self.passes, images, "pass")
                image, chunk = images, emitter.multiply_add(number, LANES, chunk, "channels")
            if result.width % WARPS:
                self.inside = emitter.within(column, result.width)
            if chunks % LANES:
                self.inside = emitter.within(chunk, chunks, self.inside)
        else:
            place = emitter.multiply_add(block, THREADS, thread, "place")
            column = emitter.divide(place, chunks, "column")
            chunk = emitter.remainder(place, chunks, column, "channels")
            if result.width * chunks % THREADS:
                self.inside = emitter.within(place, result.width * chunks)
        self.digits = [image, row, column, chunk]
        self.index = combined(emitter, self.digits, result.strides, name="result element")
        self.scale = result.item_bytes

    @property
    def halves(self) -> bool:
        """Whether elements are halves."""
        return self.result.item_bytes == 2

    def accumulators(self, start: int) -> list[Part]:
        """One single-precision register a channel, set to a word."""
        if not self.halves:
            vector = self.emitter.constant(start, "sum", self.result.words)
            return [vector[word] for word in range(vector.words)]
        return [self.emitter.constant(start, "sum") for _ in range(self.result.lanes)]

    def wide(self, vector: Part, tensor: int) -> Iterator[Part]:
        """The channels of a loaded vector in single precision, one at a time."""
        for channel in range(vector.words * (2 if self.halves else 1)):
            if self.halves:
                yield unpack(self.emitter, vector[channel // 2], channel % 2, tensor, "wide")
            else:
                yield vector[channel]

    def store(self, values: list[Part], result: TensorInfo, stages: tuple[Stage, ...] = ()) -> None:
        """Round, carry through a chain of element-wise operators, and write the thread's vector."""
        vector = values[0].virtual
        packed = Part(vector, 0, vector.words)
        tensor = self.emitter.tensor(result)
        if self.halves:
            packed = self.emitter.fresh(self.result.words, "packed")
            for word in range(packed.words):
                pair = (values[2 * word], values[2 * word + 1])
                self.emitter.op(Operation.CONVERT, Effect.PACK, (packed[word],), pair, dst_tensor=tensor)
        last = result
        if stages:
            self.carry(packed, stages)
            last = stages[-1].result
        with self.emitter.working_for(stages[-1].operator if stages else self.operator):
            pointer = self.emitter.pointer(last.base_address, self.index, self.scale, f"{last.name} address")
            self.emitter.store(pointer, packed, 0, self.inside, self.emitter.tensor(last))

    def carry(self, packed: Part, stages: tuple[Stage, ...]) -> None:
        """The chain on the vector in registers; second operands lie like the result."""
        emitter, result = self.emitter, self.result
        channel = emitter.multiply_add(self.digits[3], result.lanes, name="channel")
        parameters = channel_parameters(emitter, stages, channel, result.channels, result.lanes, self.inside)
        pointers = {
            number: emitter.pointer(stage.other.base_address, self.index, self.scale, "second address")
            for number, stage in enumerate(stages)
            if stage.other is not None
        }
        others = load_others(emitter, stages, pointers, result.words, 0, self.inside)
        apply(emitter, stages, packed, self.halves, parameters, others)

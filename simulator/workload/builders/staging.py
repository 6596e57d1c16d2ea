"""Brings the tiles of a convolution's depth loop from global to shared memory: asynchronous copies where the
card has them, else loads into registers and stores to shared memory.

Each thread copies one column of chunks of both tiles. Rows of pixels keep their place in registers, the step
along the depth is shared by all rows; what lies outside the image is predicated and becomes zero. Address
arithmetic is the plain analytic kind, with strength-reduced steps, not a table of precomputed masks.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation
from simulator.trace.schema import Guard, TensorInfo
from simulator.workload.affine import Index
from simulator.workload.builders.geometry import COLUMNS, PAIR_BYTES, ROW_BYTES, THREADS, Convolution, Tile
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Effect, Part

BELOW_ANY_IMAGE = -(1 << 24)


@dataclass(frozen=True, slots=True)
class PixelRow:
    """One output pixel whose window a thread copies: element offset of the window, first image row, first
    element in that row. `implied` is what the register of `top` answers for besides its closed form.
    """

    offset: Scalar
    top: Scalar | None = None
    left: Scalar | None = None
    implied: tuple[Guard, ...] = ()


class Staging:
    """Registers and code of the copies; `begin` sets up, `fetch` copies one tile, `advance` steps to the
    next.
    """

    def __init__(
        self,
        emitter: Emitter,
        shape: Convolution,
        tile: Tile,
        pixels: TensorInfo,
        filters: TensorInfo,
        *,
        async_copy: bool,
    ) -> None:
        self.emitter = emitter
        self.shape = shape
        self.tile = tile
        self.pixels = pixels
        self.filters = filters
        # An asynchronous copy has at least 4 bytes.
        self.async_copy = async_copy and shape.chunk_bytes >= 4
        self.pixel_id = emitter.tensor(pixels)
        self.filter_id = emitter.tensor(filters)
        self.chunks = shape.depth // shape.chunk
        self.rows_a_pass = THREADS // self.chunks
        self.held: list[tuple[Part, int]] = []
        # A window may leave the image above or below, and a tile may have rows beyond the last pixel.
        self.tail = shape.rows % tile.rows != 0
        self.needs_top = shape.guards_height or self.tail
        self.needs_turn = shape.tiles_a_row > 1 and shape.window[0] > 1
        self.partial = shape.window_row % shape.depth != 0
        self.ragged = shape.group_filters % COLUMNS != 0
        # What must be zero where nothing is loaded; pixels and tiles that do not exist may be anything.
        self.pixel_zeros = self.partial or shape.guards_height or shape.guards_width
        self.filter_zeros = self.partial or self.ragged

    # -- set-up

    def begin(self, thread: Scalar, row_block: Scalar, column_block: Scalar) -> Scalar:
        """Registers of this thread's rows; returns the shared address where its copies go."""
        emitter, shape = self.emitter, self.shape
        chunk = emitter.remainder(thread, self.chunks, name="chunk")
        row = emitter.divide(thread, self.chunks, "row")
        pixel = emitter.multiply_add(row_block, self.tile.rows, row, "pixel")
        self.chunk = emitter.multiply_add(chunk, shape.chunk, name="depth")
        self.rows = [
            self.pixel_row(emitter.add(pixel, step) if step else pixel)
            for step in range(0, self.tile.rows, self.rows_a_pass)
        ]
        self.filter_row = emitter.multiply_add(column_block, COLUMNS, row, "filter row")
        depth = shape.window[0] * shape.window_row
        self.filter_start = emitter.multiply_add(self.filter_row, depth, self.chunk, "filter offset")
        # Registers that advance with the depth; their values at tile t are in closed form below.
        self.step_offset = emitter.add(self.chunk, 0, "depth offset").part
        self.filter_offset = self.filter_start.part
        self.position = self.chunk.part
        self.window_row = (
            emitter.constant(0, "window row") if self.needs_top and shape.window[0] > 1 else None
        )
        self.turn = emitter.constant(0, "tile in row") if self.needs_turn else None
        return self.copy_place(chunk, row)

    def copy_place(self, chunk: Scalar, row: Scalar) -> Scalar:
        """Shared address of a chunk of a tile row."""
        emitter, shape = self.emitter, self.shape
        pair = emitter.divide(row, 2)
        odd = emitter.remainder(row, 2)
        place = emitter.multiply_add(pair, PAIR_BYTES, emitter.multiply_add(chunk, shape.chunk_bytes))
        return emitter.multiply_add(odd, ROW_BYTES, place, "copy place")

    def pixel_row(self, pixel: Scalar) -> PixelRow:
        """Where the window of one output pixel lies in the image."""
        emitter, shape = self.emitter, self.shape
        if shape.pointwise:
            offset = emitter.multiply_add(pixel, shape.stored_channels, name="pixel offset")
            return PixelRow(offset, pixel if self.tail else None)
        line = emitter.divide(pixel, shape.out_width)
        column = emitter.remainder(pixel, shape.out_width, line)
        image = emitter.divide(line, shape.out_height)
        height = emitter.remainder(line, shape.out_height, image)
        top = emitter.multiply_add(height, shape.strides[0], -shape.pads[0], "top")
        left = emitter.multiply_add(
            column,
            shape.strides[1] * shape.stored_channels,
            -shape.pads[1] * shape.stored_channels,
            "left",
        )
        first = emitter.multiply_add(image, shape.height, top)
        offset = emitter.multiply_add(first, shape.row_elements, left, "pixel offset")
        implied: tuple[Guard, ...] = ()
        if self.tail:
            # Beyond the last pixel: a top so low that no image row is ever in range.
            valid = emitter.within(pixel, shape.rows)
            low = emitter.constant(BELOW_ANY_IMAGE)
            merged = emitter.fresh(1, "top")
            emitter.op(Operation.ALU, Effect.SELECT, (merged,), (valid.part, top.part, low))
            top, implied = Scalar(merged, top.index), valid.guards
        kept_top = top if self.needs_top else None
        return PixelRow(offset, kept_top, left if shape.guards_width else None, implied)

    # -- one tile

    def fetch(self, tile: Index, place: Scalar, more: Flag | None) -> None:
        """Copy depth tile number `tile` (a closed form) to the stage at `place`, if there are `more`; lanes
        outside the image give zeros.
        """
        emitter, shape = self.emitter, self.shape
        also = more
        row = tile // shape.tiles_a_row
        along = tile % shape.tiles_a_row * shape.depth + self.chunk.index
        position = Scalar(self.position, along)
        step = Scalar(self.step_offset, row * (shape.row_dilation * shape.row_elements) + along)
        if self.partial:
            also = emitter.within(position, shape.window_row, also)
        self.held = []
        for number, pixel in enumerate(self.rows):
            flag = self.pixel_flag(pixel, row, position, also)
            offset = emitter.add(pixel.offset, step)
            pointer = emitter.pointer(self.pixels.base_address, offset, shape.element_bytes)
            self.copy(place, self.place_of(number), pointer, 0, flag, self.pixel_id, self.pixel_zeros)
        start = Scalar(
            self.filter_offset, self.filter_start.index + row * shape.window_row + along - self.chunk.index
        )
        pointer = emitter.pointer(self.filters.base_address, start, shape.element_bytes)
        pitch = shape.element_bytes * shape.window[0] * shape.window_row
        for number in range(COLUMNS // self.rows_a_pass):
            step_rows = number * self.rows_a_pass
            flag = also
            if self.ragged:
                here = emitter.add(self.filter_row, step_rows) if step_rows else self.filter_row
                flag = emitter.within(here, shape.filters, also)
            target = self.tile.row_bytes + self.place_of(number)
            self.copy(place, target, pointer, pitch * step_rows, flag, self.filter_id, self.filter_zeros)

    def pixel_flag(self, pixel: PixelRow, row: Index, position: Scalar, also: Flag | None) -> Flag | None:
        """Whether this row's chunk lies inside the image."""
        emitter, shape = self.emitter, self.shape
        flag = also
        if pixel.top is not None:
            top = pixel.top
            if self.window_row is not None:
                top = emitter.add(top, Scalar(self.window_row, row * shape.row_dilation))
            limit = shape.rows if shape.pointwise else shape.height
            flag = emitter.within(top, limit, flag)
            flag = Flag(flag.part, (*flag.guards, *pixel.implied))
        if pixel.left is not None:
            flag = emitter.within(emitter.add(pixel.left, position), shape.row_elements, flag)
        return flag

    def place_of(self, number: int) -> int:
        """Shared bytes from the thread's place to its row of pass `number`."""
        return number * self.rows_a_pass // 2 * PAIR_BYTES

    def copy(
        self,
        place: Scalar,
        target: int,
        pointer: Pointer,
        offset: int,
        flag: Flag | None,
        tensor: int,
        zeros: bool,
    ) -> None:
        """One chunk: asynchronously, or into a register group that `deposit` stores later."""
        emitter, width = self.emitter, self.shape.chunk_bytes
        if self.async_copy:
            emitter.copy_async(place, target, pointer, width, flag, tensor, offset)
            return
        held = emitter.fresh(-(-width // 4), "held")
        if zeros:
            emitter.refill(held, 0)
        emitter.load(pointer, held.words, offset, flag, tensor, into=held, width=width)
        self.held.append((held, target))

    def deposit(self, place: Scalar) -> None:
        """Store what `fetch` holds in registers to shared memory; nothing where copies are asynchronous."""
        for held, target in self.held:
            self.emitter.store(place, held, target, width=self.shape.chunk_bytes)

    # -- stepping

    def advance(self) -> None:
        """Move the stepping registers to the next depth tile."""
        emitter, shape = self.emitter, self.shape
        jump = shape.row_dilation * shape.row_elements
        back = (shape.tiles_a_row - 1) * shape.depth
        if not self.needs_turn:
            rows = shape.window[0] > 1
            emitter.increase(self.step_offset, jump if rows else shape.depth)
            emitter.increase(self.filter_offset, shape.window_row if rows else shape.depth)
            if rows and self.window_row is not None:
                emitter.increase(self.window_row, shape.row_dilation)
            if not rows and (self.partial or shape.guards_width):
                emitter.increase(self.position, shape.depth)
            return
        turn = self.turn
        if turn is None:
            return
        emitter.increase(turn, 1)
        wrap = emitter.fresh(1, "wrap", predicate=True)
        emitter.op(Operation.PREDICATE, Effect.EQUALS, (wrap,), (turn,), (shape.tiles_a_row,))
        emitter.increase(self.step_offset, emitter.select(wrap, jump - back, shape.depth))
        if shape.window_row % shape.depth:
            emitter.increase(self.filter_offset, emitter.select(wrap, shape.window_row - back, shape.depth))
        else:
            emitter.increase(self.filter_offset, shape.depth)
        if self.partial or shape.guards_width:
            emitter.increase(self.position, emitter.select(wrap, -back, shape.depth))
        if self.window_row is not None:
            emitter.increase(self.window_row, emitter.select(wrap, shape.row_dilation, 0))
        keep = emitter.constant(0)
        emitter.op(Operation.ALU, Effect.SELECT, (turn,), (wrap, keep, turn))

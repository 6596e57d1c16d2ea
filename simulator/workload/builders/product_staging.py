"""Brings the tiles of a matrix product's depth loop from global to shared memory: asynchronous copies where
the card has them, else loads into registers and stores to shared memory.

Each thread copies one column of chunks of either operand's tile, along the direction in which the operand
lies. Offsets advance by a constant a tile; tails in depth become zeros in both tiles, rows beyond the last
one are left alone. Elements of 2 bytes that no word holds whole go through registers, as asynchronous copies
have at least 4.
"""

from collections.abc import Iterator

from simulator.workload.affine import Index
from simulator.workload.builders.geometry import COLUMNS, PAIR_BYTES, ROW_BYTES, THREADS, Tile, turned_pitch
from simulator.workload.builders.product import Operand, Product, batch_offset
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Part, Special

LEAST_ASYNC_BYTES = 4


class Copier:
    """One operand's copies: which chunks a thread takes, where they come from and go to."""

    def __init__(
        self, emitter: Emitter, product: Product, operand: Operand, extent: int, tile_extent: int
    ) -> None:
        self.emitter = emitter
        self.product = product
        self.operand = operand
        self.extent = extent
        self.tile_extent = tile_extent
        self.tensor = emitter.tensor(operand.info)
        size = product.element_bytes
        if operand.turned:
            self.lanes = operand.lanes(extent, operand.across, size)
            fast, slow = tile_extent, product.tile_depth
        else:
            stride = operand.along if extent > 1 else 0
            self.lanes = operand.lanes(product.depth, stride, size)
            fast, slow = product.tile_depth, tile_extent
        self.width = self.lanes * size
        self.chunks = fast // self.lanes
        self.lines = THREADS // self.chunks
        self.passes = slow // self.lines
        self.depth_tail = product.depth % product.tile_depth != 0
        self.extent_tail = extent % tile_extent != 0

    def begin(self, thread: Scalar, block: Scalar, batch: Scalar | None, start: int) -> Scalar:
        """Set up; returns the shared address of the thread's first chunk, from `start` on."""
        emitter, operand, size = self.emitter, self.operand, self.product.element_bytes
        chunk = emitter.remainder(thread, self.chunks, name="chunk")
        line = emitter.divide(thread, self.chunks, "line")
        fast = emitter.multiply_add(chunk, self.lanes, name="chunk start")
        if operand.turned:
            self.first = emitter.multiply_add(block, self.tile_extent, fast, "row")
            deep = line
            place = emitter.multiply_add(
                line,
                turned_pitch(self.tile_extent, size),
                emitter.multiply_add(fast, size, start),
                "copy place",
            )
            offset = emitter.multiply_add(line, operand.across, self.first, "offset")
        else:
            self.first = emitter.multiply_add(block, self.tile_extent, line, "row")
            deep = fast
            half = emitter.multiply_add(
                emitter.remainder(line, 2), ROW_BYTES, emitter.multiply_add(fast, size, start)
            )
            place = emitter.multiply_add(emitter.divide(line, 2), PAIR_BYTES, half, "copy place")
            offset = emitter.multiply_add(self.first, operand.along, fast, "offset")
        if batch is not None:
            offset = emitter.add(offset, batch, "offset")
        # Registers that advance with the depth; their values at tile t are in closed form below.
        self.start = Scalar(emitter.add(offset, 0, "offset").part, offset.index)
        self.deep = Scalar(emitter.add(deep, 0, "depth").part, deep.index) if self.depth_tail else deep
        return place

    def fetch(self, tile: Index, more: Flag | None) -> Iterator[tuple[Pointer, int, int, Flag | None]]:
        """(pointer, byte offset, shared bytes from the thread's place, condition) of each copy of a tile; a
        condition is computed when its copy is asked for, since predicates are few.
        """
        emitter, operand, size = self.emitter, self.operand, self.product.element_bytes
        step = self.product.tile_depth
        across = operand.across if operand.turned else 1
        offset = Scalar(self.start.part, self.start.index + tile * (step * across))
        pointer = emitter.pointer(operand.info.base_address, offset, size)
        deep = Scalar(self.deep.part, self.deep.index + tile * step)
        # A condition that holds for all passes is computed once.
        flag = more
        if self.depth_tail and not operand.turned:
            flag = emitter.within(deep, self.product.depth, flag)
        if self.extent_tail and operand.turned:
            flag = emitter.within(self.first, self.extent, flag)
        for number in range(self.passes):
            here, line = flag, number * self.lines
            if operand.turned:
                if self.depth_tail:
                    moved = emitter.add(deep, line) if line else deep
                    here = emitter.within(moved, self.product.depth, flag)
                target = line * turned_pitch(self.tile_extent, size)
                yield pointer, line * operand.across * size, target, here
            else:
                if self.extent_tail:
                    moved = emitter.add(self.first, line) if line else self.first
                    here = emitter.within(moved, self.extent, flag)
                yield pointer, line * operand.along * size, line // 2 * PAIR_BYTES, here

    def advance(self) -> None:
        """To the next depth tile."""
        step = self.product.tile_depth
        self.emitter.increase(self.start.part, step * (self.operand.across if self.operand.turned else 1))
        if self.depth_tail:
            self.emitter.increase(self.deep.part, step)


class ProductStaging:
    """Both operands' copies, as the main loop wants them."""

    def __init__(
        self,
        emitter: Emitter,
        product: Product,
        tile: Tile,
        left: Operand,
        right: Operand,
        *,
        async_copy: bool,
    ) -> None:
        self.emitter = emitter
        self.product = product
        self.tile = tile
        self.copiers = (
            Copier(emitter, product, left, product.rows, tile.rows),
            Copier(emitter, product, right, product.columns, COLUMNS),
        )
        self.async_copy = async_copy and all(one.width >= LEAST_ASYNC_BYTES for one in self.copiers)
        self.held: list[tuple[Part, int, int, int]] = []

    def begin(self, thread: Scalar, row_block: Scalar, column_block: Scalar) -> Scalar:
        """Set up both; the place is that of the first operand. The second one's stands at a distance that is
        a constant where both lie the same way, else a register.
        """
        batches: list[Scalar | None] = [None, None]
        if self.product.batch:
            number = self.emitter.special(Special.BLOCK_Z)
            batches = [
                batch_offset(self.emitter, number, self.product.batch, copier.operand.batch)
                for copier in self.copiers
            ]
        blocks, starts = (row_block, column_block), (0, self.tile.row_bytes)
        places = [
            copier.begin(thread, block, batch, start)
            for copier, block, batch, start in zip(self.copiers, blocks, batches, starts, strict=True)
        ]
        distance = places[1].index - places[0].index
        self.apart: Scalar | int = distance.constant
        if distance.parts:
            register = self.emitter.multiply_add(places[0], -1, places[1], "places apart")
            self.apart = Scalar(register.part, distance)
        return places[0]

    def second(self, place: Scalar) -> tuple[Scalar, int]:
        """Register and immediate of where the second operand's copies go."""
        if isinstance(self.apart, int):
            return place, self.apart
        return self.emitter.add(place, self.apart), 0

    def fetch(self, tile: Index, place: Scalar, more: Flag | None) -> None:
        """Copy one depth tile of both operands."""
        self.held = []
        for number, copier in enumerate(self.copiers):
            there, shift = self.second(place) if number and self.async_copy else (place, 0)
            for pointer, offset, target, flag in copier.fetch(tile, more):
                if self.async_copy:
                    self.emitter.copy_async(
                        there, target + shift, pointer, copier.width, flag, copier.tensor, offset
                    )
                    continue
                held = self.emitter.fresh(-(-copier.width // 4), "held")
                if copier.depth_tail:
                    self.emitter.refill(held, 0)
                self.emitter.load(
                    pointer, held.words, offset, flag, copier.tensor, into=held, width=copier.width
                )
                self.held.append((held, target, number, copier.width))

    def deposit(self, place: Scalar) -> None:
        """Store what `fetch` holds in registers to shared memory."""
        if not self.held:
            return
        second, shift = self.second(place)
        for held, target, number, width in self.held:
            there, offset = (second, target + shift) if number else (place, target)
            self.emitter.store(there, held, offset, width=width)

    def advance(self) -> None:
        """Move both operands to the next depth tile."""
        for copier in self.copiers:
            copier.advance()

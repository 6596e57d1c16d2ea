"""Brings the tiles of a convolution whose window rows are not contiguous: in groups of channels, or with
dilated columns. A depth tile holds channels of one tap (r, s) and one group.

Tap and channel follow from the tile's number by division at every tile, which costs more address arithmetic
than the contiguous form; groups are the grid's third dimension.
"""

from simulator.workload.affine import Index
from simulator.workload.builders.geometry import COLUMNS
from simulator.workload.builders.staging import PixelRow, Staging
from simulator.workload.emit import Flag, Scalar
from simulator.workload.ir import Special


class TapStaging(Staging):
    """The copies of one group, tap by tap."""

    def begin(self, thread: Scalar, row_block: Scalar, column_block: Scalar) -> Scalar:
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
        filters, self.first = self.filter_row, self.chunk
        if shape.groups > 1:
            group = emitter.special(Special.BLOCK_Z)
            filters = emitter.multiply_add(group, shape.group_filters, filters, "filter")
            self.first = emitter.multiply_add(group, shape.window_row, self.chunk, "channel")
        self.filter_pitch = shape.window[0] * shape.window[1] * shape.filter_channels
        self.filter_start = emitter.multiply_add(filters, self.filter_pitch, self.chunk, "filter offset")
        self.number = emitter.constant(0, "tile number")
        return self.copy_place(chunk, row)

    def fetch(self, tile: Index, place: Scalar, more: Flag | None) -> None:
        """Copy depth tile number `tile`: some channels of one tap."""
        emitter, shape = self.emitter, self.shape
        number = Scalar(self.number, tile)
        tap = emitter.divide(number, shape.tiles_a_row, "tap")
        along = emitter.remainder(number, shape.tiles_a_row, tap)
        line = emitter.divide(tap, shape.window[1], "tap row")
        column = emitter.remainder(tap, shape.window[1], line)
        step = emitter.multiply_add(along, shape.depth, self.first)
        step = emitter.multiply_add(line, shape.row_dilation * shape.row_elements, step)
        aside = shape.column_dilation * shape.stored_channels
        step = emitter.multiply_add(column, aside, step, "depth offset")
        also = more
        if self.partial:
            position = emitter.multiply_add(along, shape.depth, self.chunk)
            also = emitter.within(position, shape.window_row, also)
        self.held = []
        size = shape.element_bytes
        for index, pixel in enumerate(self.rows):
            flag = self.tap_flag(pixel, line, column, also)
            pointer = emitter.pointer(self.pixels.base_address, emitter.add(pixel.offset, step), size)
            self.copy(place, self.place_of(index), pointer, 0, flag, self.pixel_id, self.pixel_zeros)
        start = emitter.multiply_add(along, shape.depth, self.filter_start)
        start = emitter.multiply_add(tap, shape.filter_channels, start)
        pointer = emitter.pointer(self.filters.base_address, start, size)
        for index in range(COLUMNS // self.rows_a_pass):
            step_rows = index * self.rows_a_pass
            flag = also
            if self.ragged:
                here = emitter.add(self.filter_row, step_rows) if step_rows else self.filter_row
                flag = emitter.within(here, shape.group_filters, also)
            target = self.tile.row_bytes + self.place_of(index)
            offset = size * self.filter_pitch * step_rows
            self.copy(place, target, pointer, offset, flag, self.filter_id, self.filter_zeros)

    def tap_flag(self, pixel: PixelRow, line: Scalar, column: Scalar, also: Flag | None) -> Flag | None:
        """Whether a tap of this row's window lies inside the image."""
        emitter, shape = self.emitter, self.shape
        flag = also
        if pixel.top is not None:
            limit = shape.rows if shape.pointwise else shape.height
            top = pixel.top
            if not shape.pointwise:
                top = emitter.multiply_add(line, shape.row_dilation, top)
            flag = emitter.within(top, limit, flag)
            flag = Flag(flag.part, (*flag.guards, *pixel.implied))
        if pixel.left is not None:
            aside = shape.column_dilation * shape.stored_channels
            flag = emitter.within(emitter.multiply_add(column, aside, pixel.left), shape.row_elements, flag)
        return flag

    def advance(self) -> None:
        """To the next depth tile."""
        self.emitter.increase(self.number, 1)

"""Maximum and average pooling in channels-last memory: a thread makes one vector of channels of one output
pixel and walks its window.

Windows of up to 16 positions are unrolled, larger ones loop over rows and stretches of columns. What lies in
the padding is predicated off; an average that leaves padding out counts its positions. Indices of maxima and
pooling in three dimensions are not built here.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.digits import combined
from simulator.workload.builders.pixels import Pixels, PixelThread
from simulator.workload.emit import Flag, Pointer, Scalar
from simulator.workload.ir import Effect, Function, Kernel, Part

UNROLLED = 16
STRETCH = 8
LOADS_AT_ONCE = 3
LOWEST = 0xFF800000  # minus infinity
STEP = 4


@dataclass(frozen=True, slots=True)
class Pool:
    """A pooling: extents in elements; `pads` are (top, left), what hangs over below and right follows from
    the sizes.
    """

    image: Pixels
    out_height: int
    out_width: int
    window: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int] = (0, 0)
    dilations: tuple[int, int] = (1, 1)
    maximum: bool = True
    counts_padding: bool = False

    @property
    def result(self) -> Pixels:
        """The output image."""
        image = self.image
        return Pixels(image.batch, self.out_height, self.out_width, image.channels, image.item_bytes)

    def overhangs(self, axis: int) -> bool:
        """Whether some window reaches out of the image along rows (0) or columns (1)."""
        outputs = (self.out_height, self.out_width)[axis]
        extent = (self.image.height, self.image.width)[axis]
        reach = self.dilations[axis] * (self.window[axis] - 1)
        last = (outputs - 1) * self.strides[axis] - self.pads[axis] + reach
        return self.pads[axis] > 0 or last >= extent

    @property
    def counts(self) -> bool:
        """Whether the divisor differs from pixel to pixel."""
        partial = self.overhangs(0) or self.overhangs(1)
        return not self.maximum and not self.counts_padding and partial


def pooling_kernel(
    name: str,
    operator: str,
    pool: Pool,
    source: TensorInfo,
    result: TensorInfo,
    stages: tuple[Stage, ...] = (),
) -> Kernel:
    """The program of a pooling, with the element-wise operators behind it."""
    thread = PixelThread(name, operator, pool.result)
    with thread.emitter.working_for(operator):
        window = Window(thread, pool, source)
        window.walk()
        window.finish(result, stages)
    return thread.emitter.finish()


class Window:
    """The walk of one thread over its window."""

    def __init__(self, thread: PixelThread, pool: Pool, source: TensorInfo) -> None:
        self.thread, self.pool, self.source = thread, pool, source
        self.emitter = thread.emitter
        image = pool.image
        _, row, column, _ = image.strides
        top, left = pool.pads
        steps = (image.strides[0], pool.strides[0] * row, pool.strides[1] * column, image.lanes)
        self.steps = (pool.dilations[0] * row, pool.dilations[1] * column)
        self.tensor = self.emitter.tensor(source)
        offset = -(top * row + left * column)
        self.start = combined(self.emitter, thread.digits, steps, offset, "window element")
        self.rows = self.coordinate(0) if pool.overhangs(0) else None
        self.columns = self.coordinate(1) if pool.overhangs(1) else None
        self.totals = thread.accumulators(LOWEST if pool.maximum else 0)
        self.count = self.emitter.constant(0, "count") if pool.counts else None
        # Loaded under a predicate in a loop, a register lives through all of it: so there are just these.
        self.buffers = [self.emitter.fresh(image.words, source.name) for _ in range(LOADS_AT_ONCE)]

    def coordinate(self, axis: int) -> Scalar:
        """The image row or column of the window's first position."""
        digit, pad = self.thread.digits[1 + axis], self.pool.pads[axis]
        return self.emitter.multiply_add(digit, self.pool.strides[axis], -pad, ("row", "column")[axis])

    def walk(self) -> None:
        """Every position once."""
        high, wide = self.pool.window
        if high * wide <= UNROLLED:
            pointer = self.pointer(self.start)
            for row in range(high):
                flag = self.row_flag(self.rows, row)
                self.stretch(pointer, row * self.steps[0], flag, self.columns, wide)
            return
        with self.emitter.repeat(high) as turn:
            start = self.emitter.multiply_add(turn, self.steps[0], self.start, "row element")
            rows = self.rows
            if rows is not None:
                rows = self.emitter.multiply_add(turn, self.pool.dilations[0], rows, "row")
            self.row(start, self.row_flag(rows, 0), wide)

    def row(self, start: Scalar, flag: Flag | None, wide: int) -> None:
        """One row of a large window."""
        done = 0
        if wide > STRETCH:
            with self.emitter.repeat(wide // STEP) as turn:
                element = self.emitter.multiply_add(turn, STEP * self.steps[1], start, "stretch element")
                columns = self.columns
                if columns is not None:
                    width = STEP * self.pool.dilations[1]
                    columns = self.emitter.multiply_add(turn, width, columns, "column")
                self.stretch(self.pointer(element), 0, flag, columns, STEP)
            done = wide // STEP * STEP
        if done < wide:
            rest = self.columns
            if rest is not None and done:
                rest = self.emitter.add(rest, done * self.pool.dilations[1])
            self.stretch(self.pointer(start), done * self.steps[1], flag, rest, wide - done)

    def pointer(self, element: Scalar) -> Pointer:
        """The address of an element."""
        base, size = self.source.base_address, self.pool.image.item_bytes
        return self.emitter.pointer(base, element, size, f"{self.source.name} address")

    def row_flag(self, rows: Scalar | None, row: int) -> Flag | None:
        """Whether a row of the window lies in the image."""
        if rows is None:
            return self.thread.inside
        step = row * self.pool.dilations[0]
        here = self.emitter.add(rows, step) if step else rows
        return self.emitter.within(here, self.pool.image.height, self.thread.inside)

    def stretch(
        self, pointer: Pointer, offset: int, flag: Flag | None, columns: Scalar | None, wide: int
    ) -> None:
        """Neighbouring positions of one row; some loads go ahead of the arithmetic."""
        size = self.pool.image.item_bytes
        for first in range(0, wide, LOADS_AT_ONCE):
            loaded = []
            for column in range(first, min(wide, first + LOADS_AT_ONCE)):
                here = flag
                if columns is not None:
                    step = column * self.pool.dilations[1]
                    place = self.emitter.add(columns, step) if step else columns
                    here = self.emitter.within(place, self.pool.image.width, flag)
                at = (offset + column * self.steps[1]) * size
                buffer = self.buffers[column - first]
                vector = self.emitter.load(pointer, buffer.words, at, here, self.tensor, into=buffer)
                loaded.append((vector, here))
            for vector, here in loaded:
                self.take(vector, here)

    def take(self, vector: Part, flag: Flag | None) -> None:
        """Let one position into the running results."""
        partial = flag if self.rows is not None or self.columns is not None else None
        tensors = (-1, -1 if self.thread.halves else self.tensor)
        for total, value in zip(self.totals, self.thread.wide(vector, self.tensor), strict=True):
            operation, effect = Operation.FADD, Effect.FLOAT_ADD
            if self.pool.maximum:
                operation, effect = Operation.ALU, Effect.FLOAT_MAXIMUM
            self.emitter.op(operation, effect, (total,), (total, value), (), partial, src_tensors=tensors)
        if self.count is not None:
            count = (self.count,)
            self.emitter.op(Operation.FADD, Effect.FLOAT_OFFSET, count, count, (1.0,), partial)

    def finish(self, result: TensorInfo, stages: tuple[Stage, ...]) -> None:
        """Divide an average, and write."""
        if self.count is not None:
            inverse = self.emitter.fresh(1, "inverse")
            numbers = (int(Function.RECIPROCAL),)
            self.emitter.op(Operation.MUFU, Effect.FUNCTION, (inverse,), (self.count,), numbers)
            for total in self.totals:
                self.emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (total,), (total, inverse))
        elif not self.pool.maximum:
            share = 1.0 / (self.pool.window[0] * self.pool.window[1])
            for total in self.totals:
                self.emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (total,), (total,), (share,))
        self.thread.store(self.totals, result, stages)

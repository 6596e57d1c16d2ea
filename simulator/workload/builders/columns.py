"""Sums down the columns of a tensor whose innermost axis is kept: each thread takes a vector of columns and
every so-many-th row, threads of a block meet by shuffles and in shared memory, and blocks leave partial
results in memory.

This is how statistics over a batch of images are taken, and any reduction over leading axes. A second kernel
combines the partial results: `partial_totals` is its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.cells import widened
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.reduction import COMBINATIONS, Reduction
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.graph import ITEM_BYTES
from simulator.workload.ir import Kernel, Part, Special
from simulator.workload.layout import VECTOR_BYTES

THREADS = 128
WARP = 32
WARPS = THREADS // WARP
ROWS_A_BLOCK = 64
UNROLLED = 4


@dataclass(frozen=True, slots=True)
class Columns:
    """A tensor as `rows` times `columns` elements that lie without gaps, and how blocks share it."""

    info: TensorInfo
    dtype: str
    rows: int
    columns: int
    segments: int

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        lanes = VECTOR_BYTES // ITEM_BYTES[self.dtype]
        while self.columns % lanes:
            lanes //= 2
        return lanes

    @property
    def across(self) -> int:
        """Threads of a block side by side: a power of two."""
        vectors = self.columns // self.lanes
        across = 1
        while across < min(WARP, vectors):
            across *= 2
        return across

    @property
    def down(self) -> int:
        """Threads of a block one below another."""
        return THREADS // self.across

    @property
    def together(self) -> int:
        """Rows that a thread loads before it adds the first."""
        return min(UNROLLED, ceiling(ceiling(self.rows, self.segments), self.down))

    @property
    def turns(self) -> int:
        """Turns of a thread's loop."""
        return ceiling(ceiling(self.rows, self.segments), self.down * self.together)

    @property
    def share(self) -> int:
        """Rows of a segment, in whole turns of a block."""
        return self.turns * self.together * self.down

    @property
    def partial_bytes(self) -> int:
        """Bytes of one statistic's partial results."""
        return 4 * self.segments * self.columns


def ceiling(value: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-value // divisor)


def segments_for(rows: int, processors: int) -> int:
    """Segments so that a card is busy but a block still has rows to add."""
    return max(1, min(ceiling(rows, ROWS_A_BLOCK), processors))


def column_kernel(
    name: str,
    operator: str,
    what: Columns,
    statistics: Sequence[Reduction],
    partial: TensorInfo,
    *,
    shifted: bool = False,
) -> Kernel:
    """Partial results [segment][statistic][column] in single precision; `shifted` takes the first row away
    from every row first, so that sums of squares lose no digits.
    """
    width = what.across * what.lanes
    blocks = -(-what.columns // width)
    emitter = Emitter(name, (blocks, what.segments, 1), THREADS)
    f = Floats(emitter)
    with emitter.working_for(operator):
        thread, block = emitter.special(Special.THREAD), emitter.special(Special.BLOCK_X)
        segment = emitter.special(Special.BLOCK_Y)
        beside = emitter.remainder(thread, what.across, name="beside")
        below = emitter.divide(thread, what.across, "below")
        here = emitter.multiply_add(beside, what.lanes, name="column in block")
        column = emitter.multiply_add(block, width, here, "column")
        inside = emitter.within(column, what.columns) if what.columns % width else None
        row = emitter.multiply_add(segment, what.share, below, "row")
        totals = [[f.constant(COMBINATIONS[one.combine][2]) for _ in range(what.lanes)] for one in statistics]
        base = first_row(f, what, column, inside) if shifted else None
        add_rows(f, what, statistics, totals, (row, column), inside, base)
        meet(emitter, what, statistics, totals, (thread, here), (block, segment), partial)
    return emitter.finish(4 * width * WARPS * len(statistics))


def first_row(f: Floats, what: Columns, column: Scalar, inside: Flag | None) -> list[Part]:
    """The elements of the tensor's first row in this thread's columns."""
    size = ITEM_BYTES[what.dtype]
    tensor = f.emitter.tensor(what.info)
    pointer = f.emitter.pointer(what.info.base_address, column, size, "first row address")
    width = what.lanes * size
    words = f.emitter.load(pointer, max(1, width // 4), 0, inside, tensor, None, width, "first row")
    return [widened(f, words, lane, what.dtype, tensor) for lane in range(what.lanes)]


def add_rows(
    f: Floats,
    what: Columns,
    statistics: Sequence[Reduction],
    totals: list[list[Part]],
    place: tuple[Scalar, Scalar],
    inside: Flag | None,
    base: list[Part] | None,
) -> None:
    """The thread's rows, some at once so that loads overlap; the last ones may not exist."""
    emitter, size = f.emitter, ITEM_BYTES[what.dtype]
    row, column = place
    width = what.lanes * size
    together = what.together
    exact = what.share * what.segments == what.rows
    tensor = emitter.tensor(what.info)

    def several(first: Scalar) -> None:
        loaded = []
        element = emitter.multiply_add(first, what.columns, column, "element")
        pointer = emitter.pointer(what.info.base_address, element, size, f"{what.info.name} address")
        for step in range(together):
            flag = inside
            if not exact:
                at = emitter.add(first, step * what.down) if step else first
                flag = emitter.within(at, what.rows, inside)
            offset = step * what.down * what.columns * size
            words = emitter.load(pointer, max(1, width // 4), offset, flag, tensor, None, width)
            loaded.append((words, None if exact else flag))
        for words, counts in loaded:
            cells = [widened(f, words, lane, what.dtype, tensor) for lane in range(what.lanes)]
            for lane, cell in enumerate(cells):
                here = f.subtract(cell, base[lane]) if base else cell
                for one, total in zip(statistics, totals, strict=True):
                    operation, effect, _ = COMBINATIONS[one.combine]
                    value = ELEMENT_FUNCTIONS[one.before].emit(f, (here,), (), None)
                    only = counts.part if counts else None
                    f.op(operation, effect, (total[lane], value), (), total[lane], only)

    if what.turns == 1:
        several(row)
        return
    with emitter.repeat(what.turns) as turn:
        several(emitter.multiply_add(turn, together * what.down, row, "row"))


def meet(
    emitter: Emitter,
    what: Columns,
    statistics: Sequence[Reduction],
    totals: list[list[Part]],
    place: tuple[Scalar, Scalar],
    where: tuple[Scalar, Scalar],
    partial: TensorInfo,
) -> None:
    """Totals of a warp by shuffles, of the block through shared memory, then to the partial results."""
    f = Floats(emitter)
    thread, here = place
    block, segment = where
    width = what.across * what.lanes
    plane = 4 * width * WARPS
    lane_index = emitter.remainder(thread, WARP, name="lane")
    warp = emitter.divide(thread, WARP, "warp")
    first_below = emitter.within(lane_index, what.across) if what.across < WARP else None
    address = emitter.multiply_add(warp, 4 * width, emitter.multiply_add(here, 4), "shared place")
    for number, (one, row) in enumerate(zip(statistics, totals, strict=True)):
        operation, effect, _ = COMBINATIONS[one.combine]
        for lane, value in enumerate(row):
            distance = WARP // 2
            while distance >= what.across:
                f.op(operation, effect, (value, emitter.shuffle_xor(value, distance)), (), value)
                distance //= 2
            emitter.store(address, value, number * plane + 4 * lane, first_below)
    emitter.barrier()
    tensor = emitter.tensor(partial)
    for first in range(0, width, THREADS):
        local = emitter.add(thread, first) if first else thread
        flag = emitter.within(local, width) if width < first + THREADS else None
        column = emitter.multiply_add(block, width, local, "column")
        if what.columns % width:
            flag = emitter.within(column, what.columns, flag)
        place_in = emitter.multiply_add(local, 4)
        element = emitter.multiply_add(segment, len(totals) * what.columns, column)
        pointer = emitter.pointer(partial.base_address, element, 4, "partial address")
        for number, one in enumerate(statistics):
            operation, effect, _ = COMBINATIONS[one.combine]
            values = [
                emitter.load(place_in, 1, number * plane + 4 * width * step, flag) for step in range(WARPS)
            ]
            total = values[0]
            for value in values[1:]:
                total = f.op(operation, effect, (total, value))
            emitter.store(pointer, total, 4 * number * what.columns, flag, tensor)


def partial_totals(
    f: Floats,
    what: Columns,
    statistics: Sequence[Reduction],
    partial: TensorInfo,
    column: Scalar,
    flag: Flag | None,
) -> list[Part]:
    """Each statistic of one column, from all segments' partial results."""
    emitter = f.emitter
    tensor = emitter.tensor(partial)
    totals = [f.constant(COMBINATIONS[one.combine][2]) for one in statistics]

    def add_segment(segment: Scalar | None) -> None:
        element = column
        if segment is not None:
            element = emitter.multiply_add(segment, len(statistics) * what.columns, column)
        pointer = emitter.pointer(partial.base_address, element, 4, "partial address")
        for number, (one, total) in enumerate(zip(statistics, totals, strict=True)):
            operation, effect, _ = COMBINATIONS[one.combine]
            value = emitter.load(pointer, 1, 4 * number * what.columns, flag, tensor)
            f.op(operation, effect, (total, value), (), total)

    if what.segments == 1:
        add_segment(None)
        return totals
    with emitter.repeat(what.segments) as segment:
        add_segment(segment)
    return totals

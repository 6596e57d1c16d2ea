"""Reductions over any axes to one number a row: sums, means, extremes, norms, products, logarithms of sums.

Each element goes through a function, elements are combined, the result goes through another function. A long
row may be shared by several blocks, whose partial results a second kernel combines, or which they add up by
atomics where the result is a plain single-precision sum.
"""

from dataclasses import dataclass, replace

from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.row_feeds import Feed, RowProgram
from simulator.workload.builders.row_tracks import RowSpace, Track
from simulator.workload.builders.rows import Rows
from simulator.workload.builders.softmax import accumulate
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Effect, Kernel, Part, Special

COMBINATIONS = {
    "add": (Operation.FADD, Effect.FLOAT_ADD, 0.0),
    "multiply": (Operation.FMUL, Effect.FLOAT_MULTIPLY, 1.0),
    "maximum": (Operation.ALU, Effect.FLOAT_MAXIMUM, float("-inf")),
    "minimum": (Operation.ALU, Effect.FLOAT_MINIMUM, float("inf")),
}
THREADS = 128


@dataclass(frozen=True, slots=True)
class Reduction:
    """Function of an element, combination, function of the result (with numbers)."""

    before: str
    combine: str
    after: str = "identity"
    numbers: tuple[float, ...] = ()


def reduction_kernel(
    name: str, operator: str, space: RowSpace, what: Reduction, before: RowProgram | None = None
) -> Kernel:
    """One kernel; the space has the tensor that is read, then the one that is written. A program may stand
    before the row.
    """
    rows = Rows(name, operator, space)
    with rows.emitter.working_for(operator):
        value = row_value(rows, what, before)
        value = ELEMENT_FUNCTIONS[what.after].emit(rows.floats, (value,), what.numbers, None)
        rows.store_once(space.tracks[1], value)
    return rows.finish()


def row_value(rows: Rows, what: Reduction, before: RowProgram | None = None) -> Part:
    """The combination of a row's elements, in every thread of it."""
    f = rows.floats
    operation, effect, neutral = COMBINATIONS[what.combine]
    feed = Feed(rows, rows.space.tracks[0], before)
    total = f.constant(neutral)

    def look(place: Scalar, key: int, flag: Flag | None, counts: Flag | None) -> None:
        for cell in feed.read(place, key, flag, first=True):
            value = ELEMENT_FUNCTIONS[what.before].emit(f, (cell,), (), None)
            accumulate(f, operation, effect, total, value, counts)

    rows.each_chunk(look, feed.fetch)
    return rows.total(total, lambda a, b: f.op(operation, effect, (a, b)))


def shared_reduction(
    name: str, operator: str, space: RowSpace, what: Reduction, segments: int, partial: TensorInfo
) -> list[Kernel]:
    """Two kernels: each row's segments to partial results, one after another; then their combination.

    `partial` has rows * segments numbers of single precision.
    """
    pieces = RowSpace(space.kept, space.along, (space.tracks[0],))
    rows = Rows(f"{name}.part", operator, pieces, segments=segments)
    with rows.emitter.working_for(operator):
        value = row_value(rows, what)
        pointer = rows.emitter.pointer(partial.base_address, rows.number, 4, "partial address")
        rows.emitter.store(pointer, value, 0, rows.first, rows.emitter.tensor(partial))
    strides, step = [], segments
    for extent in reversed(space.kept):
        strides.append(step)
        step *= extent
    parts = Track(partial, "float32", tuple(reversed(strides)), (1,))
    second = RowSpace(space.kept, (segments,), (parts, replace(space.tracks[1], along=(0,))))
    whole = replace(what, before="identity")
    return [rows.finish(), reduction_kernel(f"{name}.whole", operator, second, whole)]


def atomic_sum(name: str, operator: str, space: RowSpace, what: Reduction, segments: int) -> list[Kernel]:
    """Two kernels: zeros to the result, then every segment's sum added to it by an atomic."""
    result = space.tracks[1]
    rows = Rows(f"{name}.add", operator, space, segments=segments)
    f = rows.floats
    with rows.emitter.working_for(operator):
        value = row_value(rows, what)
        value = ELEMENT_FUNCTIONS[what.after].emit(f, (value,), what.numbers, None)
        pointer = rows.pointer(result, rows.start, 0)
        rows.emitter.atomic_add(pointer, value, 0, rows.emitter.tensor(result.info), rows.first)
    return [zero_kernel(f"{name}.zero", operator, result.info), rows.finish()]


def zero_kernel(name: str, operator: str, info: TensorInfo) -> Kernel:
    """Zeros over a tensor of single precision."""
    vectors = -(-info.bytes // 16)
    emitter = Emitter(name, (-(-vectors // THREADS), 1, 1), THREADS)
    with emitter.working_for(operator):
        thread, block = emitter.special(Special.THREAD), emitter.special(Special.BLOCK_X)
        place = emitter.multiply_add(block, THREADS, thread, "vector")
        flag = emitter.within(place, vectors) if vectors % THREADS else None
        pointer = emitter.pointer(info.base_address, place, 16, f"{info.name} address")
        emitter.store(pointer, emitter.constant(0, "zero", 4), 0, flag, emitter.tensor(info))
    return emitter.finish()

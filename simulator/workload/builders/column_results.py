"""What becomes of sums down columns: a reduction's result, or the statistics of a batch normalisation in
training with its folded scale and shift and its running statistics. A thread for each column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.cells import packed, widened
from simulator.workload.builders.columns import Columns, partial_totals
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.reduction import Reduction
from simulator.workload.builders.special_functions import reciprocal_root
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.graph import ITEM_BYTES
from simulator.workload.ir import Kernel, Part, Special

THREADS = 128
MOMENTS = (Reduction("identity", "add"), Reduction("square", "add"))


@dataclass(frozen=True, slots=True)
class Vector:
    """A tensor with one number a column."""

    info: TensorInfo
    dtype: str


@dataclass(frozen=True, slots=True)
class Training:
    """The tensors of a batch normalisation in training; `scale` and `shift` are what the last kernel uses.
    Running statistics are read and written where they are given.
    """

    gamma: Vector
    beta: Vector
    scale: Vector
    shift: Vector
    running: tuple[tuple[Vector, Vector | None], tuple[Vector, Vector | None]]
    epsilon: float
    momentum: float
    channels: int


def begin(name: str, operator: str, columns: int) -> tuple[Emitter, Floats, Scalar, Flag | None]:
    """A kernel with a thread for each column."""
    emitter = Emitter(name, (-(-columns // THREADS), 1, 1), THREADS)
    with emitter.working_for(operator):
        thread, block = emitter.special(Special.THREAD), emitter.special(Special.BLOCK_X)
        column = emitter.multiply_add(block, THREADS, thread, "column")
        flag = emitter.within(column, columns) if columns % THREADS else None
    return emitter, Floats(emitter), column, flag


def read(f: Floats, vector: Vector, column: Scalar, flag: Flag | None, *, padded: bool = False) -> Part:
    """One column's number in single precision; zero where a padded column has none."""
    size = ITEM_BYTES[vector.dtype]
    tensor = f.emitter.tensor(vector.info)
    pointer = f.emitter.pointer(vector.info.base_address, column, size, f"{vector.info.name} address")
    into = f.emitter.constant(0, vector.info.name) if padded else None
    word = f.emitter.load(pointer, 1, 0, flag, tensor, into, size, vector.info.name)
    return widened(f, word, 0, vector.dtype, tensor)


def write(f: Floats, vector: Vector, column: Scalar, value: Part, flag: Flag | None) -> None:
    """One column's number."""
    size = ITEM_BYTES[vector.dtype]
    pointer = f.emitter.pointer(vector.info.base_address, column, size, f"{vector.info.name} address")
    group = value
    if vector.dtype != "float32":
        group = f.emitter.fresh(1, vector.info.name)
        packed(f, [value], vector.dtype, group)
    f.emitter.store(pointer, group, 0, flag, f.emitter.tensor(vector.info), size)


def column_result(
    name: str, operator: str, what: Columns, statistic: Reduction, partial: TensorInfo, result: Vector
) -> Kernel:
    """The second kernel of a reduction over leading axes."""
    emitter, f, column, flag = begin(name, operator, what.columns)
    with emitter.working_for(operator):
        (total,) = partial_totals(f, what, (statistic,), partial, column, flag)
        value = ELEMENT_FUNCTIONS[statistic.after].emit(f, (total,), statistic.numbers, None)
        write(f, result, column, value, flag)
    return emitter.finish()


def batch_statistics(
    name: str, operator: str, what: Columns, partial: TensorInfo, training: Training
) -> Kernel:
    """Mean and variance of each channel from sums of distances from the first element and of their squares;
    then scale and shift, and the running statistics moved towards this batch's.
    """
    emitter, f, column, flag = begin(name, operator, what.columns)
    share = 1 / what.rows
    with emitter.working_for(operator):
        total, squares = partial_totals(f, what, MOMENTS, partial, column, flag)
        base = read(f, Vector(what.info, what.dtype), column, flag)
        distance = f.multiply(total, share)
        mean = f.add(distance, base)
        variance = f.maximum(f.fused_negated(distance, distance, f.multiply(squares, share)), 0.0)
        inverse = reciprocal_root(f, (f.add(variance, training.epsilon),))
        real = flag
        if training.channels != what.columns:
            real = emitter.within(column, training.channels)
        scale = f.multiply(read(f, training.gamma, column, real, padded=True), inverse)
        shift = f.fused_negated(mean, scale, read(f, training.beta, column, real, padded=True))
        write(f, training.scale, column, scale, flag)
        write(f, training.shift, column, shift, flag)
        moments: Sequence[Part] = (mean, variance)
        for moment, (before, after) in zip(moments, training.running, strict=True):
            if after is not None:
                old = f.multiply(read(f, before, column, real, padded=True), training.momentum)
                write(f, after, column, f.fused(moment, 1 - training.momentum, old), real)
    return emitter.finish()

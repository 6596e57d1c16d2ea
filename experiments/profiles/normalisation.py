"""The trace of PyTorch's layer normalisation by rows: a block takes one row, reads it in vectors of four,
keeps running mean and variance (one reciprocal an element), combines them over lanes by shuffles and over
warps through shared memory, then reads the row again and writes it scaled and shifted.
"""

from experiments.profiles.profile import ProfiledKernel
from experiments.profiles.works import Work
from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import block, thread
from simulator.trace.schema import KernelTrace, TensorInfo

INDEX, THREAD, READ, WRITE, MEAN, VARIANCE, COUNT, DATA = 0, 1, 2, 4, 6, 7, 8, 10
VECTOR = 4
LANES = 32
FIGURES_BYTES = 12
"""Mean, variance and count of a warp in shared memory."""


def layer_norm(
    kernel: ProfiledKernel, work: Work, result: TensorInfo, inputs: tuple[TensorInfo, ...]
) -> KernelTrace:
    """One row a block."""
    k = KernelBuilder(
        "layer norm",
        kernel.grid,
        kernel.block,
        kernel.registers,
        shared_bytes_per_block=max(kernel.shared_bytes, FIGURES_BYTES * kernel.threads // LANES),
    )
    k.operators.append(work.operator)
    size = work.item_bytes[1]
    vectors = work.width // VECTOR
    passes = -(-vectors // kernel.threads)
    row = inputs[0]
    k.s2r(INDEX)
    k.s2r(THREAD)
    k.imad(INDEX, INDEX, THREAD)
    k.wide(READ, INDEX)
    for register in (MEAN, VARIANCE, COUNT):
        k.move(register)
    words = max(1, size * VECTOR // 4)
    for turn in range(passes):
        place = thread + turn * kernel.threads
        with k.guard_unless(vectors % kernel.threads == 0, place, 0, vectors):
            k.load(
                DATA, k.at(row, (block * vectors + place) * VECTOR * size), VECTOR * size, READ, tensor=row
            )
            for element in range(VECTOR):
                _take(k, DATA + element * size // 4, narrow=size == 2)
    for _ in range(LANES.bit_length() - 1):
        _combine_lanes(k)
    step = kernel.threads // LANES // 2
    while step:
        _combine_warps(k, step)
        step //= 2
    k.barrier()
    k.load_shared(MEAN, thread * 0, 4)
    k.load_shared(VARIANCE, thread * 0 + 4, 4)
    k.emit(Operation.MUFU, VARIANCE, VARIANCE)
    k.wide(WRITE, INDEX)
    for turn in range(passes):
        place = thread + turn * kernel.threads
        with k.guard_unless(vectors % kernel.threads == 0, place, 0, vectors):
            offset = (block * vectors + place) * VECTOR * size
            k.load(DATA, k.at(row, offset), VECTOR * size, READ, tensor=row)
            parameters = []
            for number, tensor in enumerate(inputs[1:]):
                first = DATA + words * (1 + number)
                parameters.append(first)
                k.load(first, k.at(tensor, place * VECTOR * size), VECTOR * size, tensor=tensor)
            for element in range(VECTOR):
                register = DATA + element * size // 4
                for source in (register, *(first + element * size // 4 for first in parameters)):
                    if size == 2:
                        k.alu(source, source)
                k.fadd(register, register, MEAN)
                k.fmul(register, register, VARIANCE)
                if parameters:
                    k.ffma(register, register, *(first + element * size // 4 for first in parameters))
                if size == 2 and element % 2:
                    k.alu(register, register)
            k.store(DATA, k.at(result, offset), VECTOR * size, WRITE, tensor=result)
    return k.build()


def _take(k: KernelBuilder, register: int, *, narrow: bool) -> None:
    """One element into the running mean and variance: the new count's reciprocal, refined once."""
    if narrow:
        k.alu(register, register)
    k.fadd(COUNT, COUNT)
    k.emit(Operation.MUFU, COUNT + 1, COUNT)
    k.ffma(COUNT + 1, COUNT + 1, COUNT)
    k.fadd(register, register, MEAN)
    k.ffma(MEAN, register, COUNT + 1, MEAN)
    k.ffma(VARIANCE, register, MEAN, VARIANCE)


def _combine_lanes(k: KernelBuilder) -> None:
    """Mean, variance and count of another lane."""
    for register in (MEAN, VARIANCE, COUNT):
        k.emit(Operation.SHUFFLE, DATA + register - MEAN, register)
    _merge(k)


def _combine_warps(k: KernelBuilder, step: int) -> None:
    """The upper half of the warps hands its figures to the lower half through shared memory."""
    warp = thread // LANES
    place = warp * FIGURES_BYTES
    with k.guard(warp, step, 2 * step), k.guard(thread % LANES, 0, 1):
        for number, register in enumerate((MEAN, VARIANCE, COUNT)):
            k.store_shared(register, place - step * FIGURES_BYTES + 4 * number, 4)
    k.barrier()
    with k.guard(warp, 0, step):
        for number in range(3):
            k.load_shared(DATA + number, place + 4 * number, 4)
        _merge(k)
    k.barrier()


def _merge(k: KernelBuilder) -> None:
    """Two running figures become one."""
    k.fadd(COUNT, COUNT, DATA + 2)
    k.emit(Operation.MUFU, COUNT + 1, COUNT)
    k.fadd(DATA, DATA, MEAN)
    k.fmul(DATA + 2, DATA + 2, COUNT + 1)
    k.ffma(MEAN, DATA, DATA + 2, MEAN)
    k.fmul(DATA, DATA, DATA)
    k.ffma(VARIANCE, DATA, DATA + 2, VARIANCE)

"""Kernel traces that do what a profiled element-wise kernel did: its grid, block, registers and shared memory
as profiled, its instructions as a compiler makes them from the loop of that form.

The offset form follows our own build of such a loop for compute capability 8.0: for each dimension a multiply
for the quotient, a shift, the remainder, one multiply-add an operand, and the test whether it was the last;
a thread's elements one after another, since its store may alias its next load. Not modelled: the separate
path of a partly filled block, whose lanes are switched off on the main one instead.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import prod

from experiments.profiles.arithmetic import arithmetic
from experiments.profiles.normalisation import layer_norm
from experiments.profiles.profile import ProfiledKernel, Shape
from experiments.profiles.works import UNKNOWN_DIMENSIONS, Work
from hwmodels.errors import InputError
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import Expression, block, expression, thread
from simulator.trace.kernels.common import check_bounds
from simulator.trace.schema import KernelTrace, TensorInfo

INDEX, THREAD, OFFSETS, SCRATCH, POINTERS = 0, 1, 2, 5, 8
WRITTEN_BYTES, WRITING_THREADS = 16, 256
UNKNOWN_PLANE = 1024
UNKNOWN_CHANNELS = 64
"""Where no shape is known: elements that share one broadcast value, and how many values there are."""


@dataclass(frozen=True, slots=True)
class Operands:
    """Where the result and the inputs lie; in place, the first input is the result."""

    result: TensorInfo
    inputs: tuple[TensorInfo, ...]


def operands_of(work: Work, memory: GlobalMemory | None = None, given: TensorInfo | None = None) -> Operands:
    """Places for the tensors of a kernel; `given` is where its first input already lies."""
    memory = memory or GlobalMemory()
    if work.in_place and given is not None:
        result = given
    else:
        kind = "input" if work.in_place else "output"
        result = memory.tensor("result", work.elements * work.item_bytes[0], kind)
    inputs = []
    for number, size in enumerate(work.item_bytes[1:]):
        if number == 0 and work.in_place:
            inputs.append(result)
            continue
        if number == 0 and given is not None:
            inputs.append(given)
            continue
        count = prod(work.shapes[number + 1]) if work.shapes else work.elements
        if work.form == "offsets" and not work.shapes and number:
            count = UNKNOWN_CHANNELS
        inputs.append(memory.tensor(f"input{number}", count * size, "input"))
    return Operands(result, tuple(inputs))


def trace_of(kernel: ProfiledKernel, work: Work, places: Operands) -> KernelTrace:
    """The trace of a kernel whose work is known."""
    if work.form == "layer norm":
        return layer_norm(kernel, work, places.result, places.inputs)
    return element_wise(kernel, work, places)


def writing(tensor: TensorInfo, *, in_place: bool = False) -> KernelTrace:
    """A kernel that only writes a tensor, 16 bytes a thread, or reads it and writes it back."""
    vectors = max(1, tensor.bytes // WRITTEN_BYTES)
    blocks = -(-vectors // WRITING_THREADS)
    k = KernelBuilder("producer", blocks, WRITING_THREADS)
    index = block * WRITING_THREADS + thread
    k.s2r(INDEX)
    k.wide(OFFSETS, INDEX)
    check_bounds(k, index, vectors, blocks * WRITING_THREADS)
    if in_place:
        k.load(POINTERS, k.at(tensor, index * WRITTEN_BYTES), WRITTEN_BYTES, OFFSETS, tensor=tensor)
    k.store(POINTERS, k.at(tensor, index * WRITTEN_BYTES), WRITTEN_BYTES, OFFSETS, tensor=tensor)
    return k.build()


def element_wise(kernel: ProfiledKernel, work: Work, places: Operands) -> KernelTrace:
    """The trace of a kernel of one of the three element-wise forms."""
    k = KernelBuilder(
        f"{work.form}:{work.operator or 'element-wise'}",
        kernel.grid,
        kernel.block,
        kernel.registers,
        shared_bytes_per_block=kernel.shared_bytes,
    )
    k.operators.append(work.operator or "element-wise")
    first = block * (kernel.threads * work.per_thread)
    k.s2r(INDEX)
    k.s2r(THREAD)
    k.imad(INDEX, INDEX, THREAD)
    k.setp(0, INDEX)
    k.branch(0)
    if work.form == "offsets":
        _one_by_one(k, kernel, work, places, first)
    else:
        _together(k, kernel, work, places, first)
    trace = k.build()
    if k.highest > kernel.registers:
        raise InputError(kernel.place, f"{kernel.registers} registers do not hold this loop", "")
    return trace


def _together(
    k: KernelBuilder, kernel: ProfiledKernel, work: Work, places: Operands, first: Expression
) -> None:
    """All loads of a thread, then the arithmetic, then its stores."""
    width = work.vector if work.form == "vectorised" else 1
    passes = work.per_thread // width
    tensors = (places.result, *places.inputs)
    pointers = [OFFSETS + 2 * number for number in range(len(tensors))]
    for register in pointers:
        k.wide(register, INDEX)
    data = pointers[-1] + 2
    loaded: list[list[int]] = []
    free = data
    for turn in range(passes):
        index = first + (thread + turn * kernel.threads) * width
        row = []
        for number, tensor in enumerate(places.inputs):
            size = work.item_bytes[number + 1] * width
            registers = max(1, size // 4)
            if free + registers > kernel.registers:
                free = data
            with _tail(k, kernel, work, index):
                k.load(
                    free,
                    k.at(tensor, index * work.item_bytes[number + 1]),
                    size,
                    pointers[number + 1],
                    tensor=tensor,
                )
            row.append(free)
            free += registers
        loaded.append(row)
    for turn, row in enumerate(loaded):
        index = first + (thread + turn * kernel.threads) * width
        target = row[0] if row else data
        size = work.item_bytes[0] * width
        if target + max(1, size // 4) > kernel.registers:
            target = data
        arithmetic(k, work.operator, target, row, width, work.item_bytes)
        with _tail(k, kernel, work, index):
            k.store(
                target,
                k.at(places.result, index * work.item_bytes[0]),
                size,
                pointers[0],
                tensor=places.result,
            )


def _one_by_one(
    k: KernelBuilder, kernel: ProfiledKernel, work: Work, places: Operands, first: Expression
) -> None:
    """Each element from its index to its store before the next begins."""
    dimensions = _dimensions(work)
    count = len(work.item_bytes)
    data = POINTERS + 2 * count
    for turn in range(work.per_thread):
        index = first + thread + turn * kernel.threads
        if turn:
            k.alu(INDEX, INDEX)
            check_bounds(k, index, work.elements, kernel.blocks * kernel.threads * work.per_thread)
            k.setp(0)
        k.move(OFFSETS)
        k.move(OFFSETS + 1)
        for dimension in range(dimensions):
            left = SCRATCH + 2 if dimension else INDEX
            k.move(SCRATCH)
            k.setp(0)
            k.imad(SCRATCH, left, SCRATCH)
            k.alu(SCRATCH + 1, SCRATCH)
            k.alu(SCRATCH, SCRATCH + 1)
            k.imad(SCRATCH + 2, SCRATCH, left)
            for number in range(count):
                k.imad(OFFSETS + number, SCRATCH + 2, OFFSETS + number)
            k.move(SCRATCH + 2, SCRATCH + 1)
            k.branch(0)
        with _tail(k, kernel, work, index):
            row = []
            for number in range(count - 1, -1, -1):
                register = POINTERS + 2 * number
                k.alu(register, OFFSETS + number)
                k.alu(register + 1, register)
            for number, tensor in enumerate(places.inputs):
                place = element_of(work, number, index) * work.item_bytes[number + 1]
                k.load(
                    data + number,
                    k.at(tensor, place),
                    work.item_bytes[number + 1],
                    POINTERS + 2 * number + 2,
                    tensor=tensor,
                )
                row.append(data + number)
            arithmetic(k, work.operator, data, row, 1, work.item_bytes)
            k.store(
                data,
                k.at(places.result, index * work.item_bytes[0]),
                work.item_bytes[0],
                POINTERS,
                tensor=places.result,
            )


def _tail(
    k: KernelBuilder, kernel: ProfiledKernel, work: Work, index: Expression
) -> AbstractContextManager[None]:
    """Lanes beyond the last element are off; no guard where there are none."""
    exact = kernel.blocks * kernel.threads * work.per_thread == work.elements
    return k.guard_unless(exact, index, 0, work.elements)


def _dimensions(work: Work) -> int:
    """Dimensions that are left when neighbours with one stride pattern are merged."""
    if not work.shapes:
        return UNKNOWN_DIMENSIONS
    result = work.shapes[0]
    patterns = [
        tuple(_full(shape, len(result))[at] == size for shape in work.shapes[1:])
        for at, size in enumerate(result)
        if size > 1
    ]
    return max(1, sum(pattern != before for pattern, before in zip(patterns, [(), *patterns], strict=False)))


def _full(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


def element_of(work: Work, number: int, index: Expression) -> Expression:
    """The element of an input that belongs to an element of the result."""
    if number == 0 and work.in_place:
        return index
    if not work.shapes:
        return index if number == 0 else index // UNKNOWN_PLANE % UNKNOWN_CHANNELS
    result, own = work.shapes[0], _full(work.shapes[number + 1], len(work.shapes[0]))
    offset, inner, stride = expression(0), 1, 1
    for size, mine in zip(reversed(result), reversed(own), strict=True):
        if mine > 1:
            offset = offset + (index // inner % size) * stride
            stride *= mine
        inner *= size
    return offset

"""The trace of one kernel in place of a chain of element-wise kernels: it reads what the first read and what
the later ones add, does all their arithmetic in registers, and writes what the last wrote.

Four elements a thread in one vector, as a code generator for fused loops makes them; a broadcast operand is
read once a thread, which is exact where its value does not change within four neighbours.
"""

from collections.abc import Sequence

from experiments.profiles.arithmetic import arithmetic
from experiments.profiles.programs import Operands, element_of
from experiments.profiles.works import Work
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import block, thread
from simulator.trace.kernels.common import check_bounds
from simulator.trace.schema import KernelTrace

THREADS, VECTOR = 128, 4
INDEX, THREAD, POINTERS = 0, 1, 2


def fused_trace(works: Sequence[Work], places: Sequence[Operands], registers: int) -> KernelTrace:
    """The kernel; `places` are the tensors of each work, intermediate ones no longer touched."""
    elements = works[0].elements
    blocks = -(-elements // (THREADS * VECTOR))
    k = KernelBuilder("fused", blocks, THREADS, registers)
    index = (block * THREADS + thread) * VECTOR
    k.s2r(INDEX)
    k.s2r(THREAD)
    k.imad(INDEX, INDEX, THREAD)
    check_bounds(k, index, elements, blocks * THREADS * VECTOR)
    reads = [
        (at, number)
        for at, work in enumerate(works)
        for number in range(len(work.item_bytes) - 1)
        if at == 0 or number > 0
    ]
    pointer = POINTERS
    data = POINTERS + 2 * (len(reads) + 1)
    held: dict[tuple[int, int], int] = {}
    for at, number in reads:
        work, tensor, size = works[at], places[at].inputs[number], works[at].item_bytes[number + 1]
        whole = tensor.bytes >= elements * size
        k.wide(pointer, INDEX)
        with k.guard_unless(elements % VECTOR == 0, index, 0, elements - VECTOR + 1):
            width = VECTOR * size if whole else size
            k.load(data, k.at(tensor, element_of(work, number, index) * size), width, pointer, tensor=tensor)
        held[at, number] = data
        data += max(1, VECTOR * size // 4)
        pointer += 2
    value = held.get((0, 0), data)
    for at, work in enumerate(works):
        operator = work.operator or f"operator{at}"
        with k.operator(operator):
            sources = [value, *(held[at, number] for number in range(1, len(work.item_bytes) - 1))]
            if at == 0:
                sources = [held[at, number] for number in range(len(work.item_bytes) - 1)]
            arithmetic(k, work.operator, value, sources, VECTOR, work.item_bytes)
    k.wide(pointer, INDEX)
    size, result = works[-1].item_bytes[0], places[-1].result
    with k.guard_unless(elements % VECTOR == 0, index, 0, elements - VECTOR + 1):
        k.store(value, k.at(result, index * size), VECTOR * size, pointer, tensor=result)
    return k.build()

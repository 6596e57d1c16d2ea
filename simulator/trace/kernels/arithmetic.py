"""Kernels for one operation class: a chain of dependent instructions, or independent ones from many warps."""

from typing import Annotated

from hwmodels.errors import InputError
from hwmodels.operations import Operation, is_memory, operation_from
from simulator.trace.builder import KernelBuilder
from simulator.trace.kernels.common import DATA, repeat
from simulator.trace.kernels.registry import Blocks, Turns, kernel
from simulator.trace.schema import FIRST_PREDICATE, LANES, KernelTrace

# Registers of (result and accumulator, first, second operand), where they are not one each.
OPERANDS = {
    Operation.DADD: (2, 2, 0),
    Operation.DMUL: (2, 2, 0),
    Operation.DFMA: (2, 2, 0),
    Operation.HMMA_884_F16: (2, 2, 2),
    Operation.HMMA_884_F32: (2, 2, 2),
    Operation.HMMA_1688_F16: (2, 2, 1),
    Operation.HMMA_1688_F32: (4, 2, 1),
    Operation.HMMA_16816_F16: (2, 4, 2),
    Operation.HMMA_16816_F32: (4, 4, 2),
    Operation.TF32_1684: (4, 2, 1),
    Operation.TF32_1688: (4, 4, 2),
    Operation.IMMA_8816: (2, 1, 1),
    Operation.IMMA_16816: (4, 2, 1),
    Operation.IMMA_16832: (4, 4, 2),
    Operation.BMMA_88128: (2, 1, 1),
    Operation.BMMA_168256: (4, 4, 2),
    Operation.DMMA_884: (4, 2, 2),
    Operation.FFMA: (1, 1, 1),
    Operation.IMAD: (1, 1, 1),
    Operation.HFMA2: (1, 1, 1),
    Operation.MUFU: (1, 0, 0),
    Operation.CONVERT: (1, 0, 0),
    Operation.POPC: (1, 0, 0),
    Operation.MOVE: (1, 0, 0),
    Operation.S2R: (1, 0, 0),
}
NO_RESULT = frozenset(
    {
        Operation.BRANCH,
        Operation.EXIT,
        Operation.BARRIER,
        Operation.MEMBAR,
        Operation.NOP,
        Operation.ASYNC_COMMIT,
        Operation.ASYNC_WAIT,
        Operation.OPAQUE,
    }
)
SECOND = DATA - 8
THIRD = SECOND + 5
"""In the other register bank, so that no chain is slowed by operand conflicts."""


def arithmetic(name: str, operation: str) -> Operation:
    """The operation class of a word; it must turn registers into registers."""
    found = operation_from(operation, f"kernel:{name},operation")
    if is_memory(found) or found in NO_RESULT:
        raise InputError(
            f"kernel:{name},operation", f"{found.name} is no arithmetic", "take FFMA, IMAD, MUFU, HMMA_…"
        )
    return found


def emit(k: KernelBuilder, operation: Operation, accumulator: int) -> None:
    """One instruction that reads and overwrites the registers from `accumulator`; others never change."""
    if operation is Operation.PREDICATE:
        k.emit(operation, FIRST_PREDICATE + 1, FIRST_PREDICATE + 1)
        return
    size, first, second = OPERANDS.get(operation, (1, 1, 0))
    own = tuple(range(accumulator, accumulator + size))
    k.emit(operation, own, (*own, *range(SECOND, SECOND + first), *range(THIRD, THIRD + second)))


def loops(name: str, operation: str, count: int, warps: int, blocks: int, chains: int) -> KernelTrace:
    """Warps that issue `count` instructions each, going round `chains` independent chains."""
    found = arithmetic(name, operation)
    unroll = next(size for size in (32, 16, 8, 4, 2, 1) if count % (size * chains) == 0 or size == 1)
    if count % (unroll * chains):
        raise InputError(
            f"kernel:{name},count", f"{count} is no multiple of {chains} chains", f"{chains * 64} would be"
        )
    k = KernelBuilder(f"{name}_{found.name}", blocks, warps * LANES)
    size = OPERANDS.get(found, (1, 1, 0))[0]
    for register in (*range(SECOND, THIRD + 2), *range(DATA, DATA + chains * size)):
        k.move(register)
    with repeat(k, count // (unroll * chains)):
        for _ in range(unroll):
            for number in range(chains):
                emit(k, found, DATA + number * size)
    return k.build()


@kernel
def dependent(
    operation: str = "FFMA", count: Turns = 512, warps: Annotated[int, (1, 32)] = 1, blocks: Blocks = 1
) -> list[KernelTrace]:
    """Each instruction needs the result of the one before: cycles an instruction are its latency."""
    return [loops("dependent", operation, count, warps, blocks, 1)]


@kernel
def independent(
    operation: str = "FFMA",
    count: Turns = 1024,
    warps: Annotated[int, (1, 32)] = 16,
    blocks: Blocks = 1,
    chains: Annotated[int, (1, 32)] = 8,
) -> list[KernelTrace]:
    """Many warps and several chains in each: cycles an instruction are its issue interval."""
    return [loops("independent", operation, count, warps, blocks, chains)]

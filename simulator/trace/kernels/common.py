"""What most kernels begin and repeat with: the thread's index, the bounds check, counted loops.

Registers by convention: R0 index, R1 thread, from R4 the 64-bit addresses, R12 a loop counter, from R24 data.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import Expression, block, thread
from simulator.trace.schema import FIRST_PREDICATE, Guard

MIB = 1 << 20
INDEX, THREAD, ADDRESSES, COUNTER, DATA = 0, 1, 4, 12, 24


def size_bytes(place: str, units: float, unit_bytes: int, multiple: int) -> int:
    """A size given in MiB or KiB as bytes, rounded up to a whole number of elements; one must fit."""
    size = int(units * unit_bytes)
    if size < multiple:
        least = f"{multiple / unit_bytes:g} {'MiB' if unit_bytes == MIB else 'KiB'}"
        raise InputError(
            f"kernel:{place}", f"{size} bytes hold no element of {multiple}", f"give {least} or more"
        )
    return -(-size // multiple) * multiple


def power_of_two(place: str, value: int) -> None:
    """Refuse an access width that no load has."""
    if value & (value - 1):
        raise InputError(f"kernel:{place}", f"{value} bytes a lane", "use 4, 8 or 16")


def begin(k: KernelBuilder, threads: int, unroll: int = 1) -> Expression:
    """Read block and thread number and make the index of the thread's first element in R0."""
    k.s2r(INDEX)
    k.s2r(THREAD)
    k.imad(INDEX, INDEX, THREAD)
    return block * (threads * unroll) + thread


def check_bounds(k: KernelBuilder, index: Expression, count: int, covered: int) -> None:
    """Compare the index and leave where it is `count` or more; `covered` is how many indices the grid has."""
    k.setp(0, INDEX)
    if covered == count:
        k.emit(Operation.EXIT, (), FIRST_PREDICATE, mask=0)
        return
    k.emit(Operation.EXIT, (), FIRST_PREDICATE, guards=(Guard(index, count, max(covered, count) + 1),))


def pointers(k: KernelBuilder, count: int) -> list[int]:
    """Make the 64-bit address of the thread's element of each array; gives the first register of each."""
    registers = [ADDRESSES + 2 * number for number in range(count)]
    for register in registers:
        k.wide(register, INDEX)
    return registers


@contextmanager
def repeat(k: KernelBuilder, turns: Expression | int, counter: int = COUNTER) -> Iterator[Expression]:
    """A counted loop as compilers write it: the body, increment, compare, branch."""
    k.move(counter)
    with k.loop(turns) as turn:
        yield turn
        k.alu(counter, counter)
        k.setp(0, counter)

"""What the reader must know of one SASS mnemonic: its operation class and how many register operands it can
have.

Tracers list general registers only, so an upper bound is what the encoding has and a lower one what can't be
a constant, an immediate or a uniform register. Names and operand counts are those of the instruction set
reference in NVIDIA's CUDA Binary Utilities and of `cuobjdump` output. Latencies belong to the card, except
for instructions that have no class of their own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hwmodels.operations import Operation

NEVER, MAYBE, ALWAYS = range(3)
"""Whether a line of the opcode names a destination register."""


@dataclass(frozen=True, slots=True)
class Opcode:
    """One mnemonic (the part before the first dot)."""

    name: str
    operation: Operation
    destination: int
    least_sources: int
    most_sources: int
    latency_cycles: int = 0
    """Of an OPAQUE instruction."""
    ignores_addresses: bool = False
    """Its line may carry addresses, but it moves no data: cache control, prefetch."""
    note: str = ""
    """What of it the replay leaves out; becomes a warning where the opcode occurs."""


Rows = Iterable[Opcode]


def row(
    operation: Operation,
    destination: int,
    sources: tuple[int, int],
    names: str,
    *,
    latency_cycles: int = 0,
    ignores_addresses: bool = False,
    note: str = "",
) -> Iterator[Opcode]:
    """The opcodes of a line of a table: several names that behave alike."""
    for name in names.split():
        yield Opcode(name, operation, destination, *sources, latency_cycles, ignores_addresses, note)


def table(*rows: Rows) -> dict[str, Opcode]:
    """Rows by name; a later row replaces an earlier one."""
    return {opcode.name: opcode for part in rows for opcode in part}

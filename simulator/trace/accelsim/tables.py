"""Which table of mnemonics belongs to which binary version (compute capability times ten)."""

from dataclasses import dataclass

from hwmodels.errors import InputError
from simulator.trace.accelsim.opcode import Opcode
from simulator.trace.accelsim.opcodes_ampere import AMPERE, HOPPER
from simulator.trace.accelsim.opcodes_early import KEPLER, MAXWELL
from simulator.trace.accelsim.opcodes_volta import TURING, VOLTA

RESERVED_SHARED_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Architecture:
    """A generation: its name, the versions that belong to it, and its mnemonics."""

    name: str
    versions: tuple[int, ...]
    opcodes: dict[str, Opcode]
    reserved_shared_bytes: int = 0
    """Shared memory that the system keeps in front of the block's own, from sm_80 on."""


ARCHITECTURES = (
    Architecture("kepler", (30, 32, 35, 37), KEPLER),
    Architecture("maxwell", (50, 52, 53), MAXWELL),
    Architecture("pascal", (60, 61, 62), MAXWELL),
    Architecture("volta", (70, 72), VOLTA),
    Architecture("turing", (75,), TURING),
    Architecture("ampere", (80, 86, 87), AMPERE, RESERVED_SHARED_BYTES),
    Architecture("ada", (89,), AMPERE, RESERVED_SHARED_BYTES),
    Architecture("hopper", (90,), HOPPER, RESERVED_SHARED_BYTES),
)
BY_VERSION = {version: one for one in ARCHITECTURES for version in one.versions}


def architecture_of(version: int, place: str) -> Architecture:
    """The generation of a binary version; an InputError lists the valid ones."""
    if version not in BY_VERSION:
        known = ", ".join(map(str, sorted(BY_VERSION)))
        raise InputError(place, f"binary version {version} has no table of operations", f"one of {known}")
    return BY_VERSION[version]

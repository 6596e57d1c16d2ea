"""The closed list of operation classes, the pipelines they use, and their times on a card.

An instruction of a trace carries one of these classes; a real mnemonic that has none of its own is OPAQUE
with its latency. Times come from a card: `latency_cycles` from issue to a dependent issue on a free
pipeline, and `interval_tenths` between two issues of one sub-core. Memory operations add the memory's time
to theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, auto, unique

from hwmodels.errors import unknown
from hwmodels.field import member, number


@unique
class Operation(IntEnum):
    """Operation classes. Values are stable: they stand in trace files; new ones go to the end."""

    ALU = 0
    IMAD = auto()
    FADD = auto()
    FMUL = auto()
    FFMA = auto()
    HADD2 = auto()
    HMUL2 = auto()
    HFMA2 = auto()
    DADD = auto()
    DMUL = auto()
    DFMA = auto()
    MUFU = auto()
    CONVERT = auto()
    POPC = auto()
    MOVE = auto()
    S2R = auto()
    SHUFFLE = auto()
    VOTE = auto()
    PREDICATE = auto()
    BRANCH = auto()
    HMMA_884_F16 = auto()
    HMMA_884_F32 = auto()
    HMMA_1688_F16 = auto()
    HMMA_1688_F32 = auto()
    HMMA_16816_F16 = auto()
    HMMA_16816_F32 = auto()
    TF32_1684 = auto()
    TF32_1688 = auto()
    IMMA_8816 = auto()
    IMMA_16816 = auto()
    IMMA_16832 = auto()
    BMMA_88128 = auto()
    BMMA_168256 = auto()
    DMMA_884 = auto()
    LDG = auto()
    STG = auto()
    ATOMG = auto()
    REDG = auto()
    LDL = auto()
    STL = auto()
    LDS = auto()
    STS = auto()
    ATOMS = auto()
    LDC = auto()
    LD = auto()
    ST = auto()
    ATOM = auto()
    LDSM = auto()
    LDGSTS = auto()
    ASYNC_COMMIT = auto()
    ASYNC_WAIT = auto()
    BARRIER = auto()
    MEMBAR = auto()
    EXIT = auto()
    NOP = auto()
    OPAQUE = auto()


@unique
class Pipeline(IntEnum):
    """What an instruction occupies when it issues."""

    ALU = 0
    FMA = auto()
    FP64 = auto()
    HALF = auto()
    TENSOR = auto()
    SFU = auto()
    BRANCH = auto()
    LSU = auto()
    CONSTANT = auto()


@unique
class Space(IntEnum):
    """Memory that an operation addresses."""

    NONE = 0
    GLOBAL = auto()
    LOCAL = auto()
    SHARED = auto()
    CONSTANT = auto()
    GENERIC = auto()


_O = Operation
_SPACES = {
    Space.GLOBAL: (_O.LDG, _O.STG, _O.ATOMG, _O.REDG, _O.LDGSTS),
    Space.LOCAL: (_O.LDL, _O.STL),
    Space.SHARED: (_O.LDS, _O.STS, _O.ATOMS, _O.LDSM),
    Space.CONSTANT: (_O.LDC,),
    Space.GENERIC: (_O.LD, _O.ST, _O.ATOM),
}
_SPACE_OF = {operation: space for space, operations in _SPACES.items() for operation in operations}
_ATOMICS = frozenset({_O.ATOMG, _O.REDG, _O.ATOMS, _O.ATOM})
_STORES = frozenset({_O.STG, _O.STL, _O.STS, _O.ST})
_LOADS = frozenset({_O.LDG, _O.LDL, _O.LDS, _O.LDC, _O.LD, _O.LDSM, _O.LDGSTS})
_LG_SPACES = frozenset({Space.GLOBAL, Space.LOCAL, Space.GENERIC})
# Rows * columns * depth of the shape in the name, except for Volta's 884, where an instruction is one step.
_MULTIPLY_ADDS = {
    _O.HMMA_884_F16: 512,
    _O.HMMA_884_F32: 256,
    _O.HMMA_1688_F16: 16 * 8 * 8,
    _O.HMMA_1688_F32: 16 * 8 * 8,
    _O.HMMA_16816_F16: 16 * 8 * 16,
    _O.HMMA_16816_F32: 16 * 8 * 16,
    _O.TF32_1684: 16 * 8 * 4,
    _O.TF32_1688: 16 * 8 * 8,
    _O.IMMA_8816: 8 * 8 * 16,
    _O.IMMA_16816: 16 * 8 * 16,
    _O.IMMA_16832: 16 * 8 * 32,
    _O.BMMA_88128: 8 * 8 * 128,
    _O.BMMA_168256: 16 * 8 * 256,
    _O.DMMA_884: 8 * 8 * 4,
}


def space_of(operation: Operation) -> Space:
    """The memory that the operation addresses; LDGSTS counts as global, where its traffic is."""
    return _SPACE_OF.get(operation, Space.NONE)


def is_memory(operation: Operation) -> bool:
    """Whether it carries addresses."""
    return operation in _SPACE_OF


def is_load(operation: Operation) -> bool:
    """Whether it only reads the memory of its `address`; an atomic is neither load nor store."""
    return operation in _LOADS


def is_store(operation: Operation) -> bool:
    """Whether it only writes the memory of its `address`."""
    return operation in _STORES


def is_atomic(operation: Operation) -> bool:
    """Whether it reads and writes at once, with a result (ATOM*) or without (REDG)."""
    return operation in _ATOMICS


def is_tensor(operation: Operation) -> bool:
    """Whether it is a matrix multiply-accumulate of a tensor core."""
    return operation in _MULTIPLY_ADDS


def multiply_adds_of(operation: Operation) -> int:
    """Multiply-adds of a warp's tensor instruction; 0 for every other operation."""
    return _MULTIPLY_ADDS.get(operation, 0)


def uses_lg_queue(operation: Operation) -> bool:
    """Whether it waits in the local/global queue."""
    return space_of(operation) in _LG_SPACES


def uses_mio_queue(operation: Operation) -> bool:
    """Whether it waits in the memory-I/O queue; cards that share special functions would add SFU."""
    return space_of(operation) is Space.SHARED or operation is _O.SHUFFLE


@dataclass(frozen=True, slots=True)
class OperationTiming:
    """One operation on one card."""

    pipeline: Pipeline = member(Pipeline, doc="Pipeline that the operation occupies.")
    latency_cycles: int = number(
        unit="SM cycles",
        low=0,
        high=10_000,
        doc="Issue to dependent issue; for memory operations 0: the memory has it.",
    )
    interval_tenths: int = number(
        unit="tenths of an SM cycle",
        low=0,
        high=10_000,
        doc="Between issues of a sub-core; accumulated, not rounded.",
    )


@dataclass(frozen=True, slots=True)
class OperationTable:
    """Times of every operation that a card has, by `table[Operation.FFMA]`; None where the card lacks it."""

    timings: tuple[OperationTiming | None, ...]

    def __getitem__(self, operation: Operation) -> OperationTiming:
        timing = self.timings[operation]
        if timing is None:
            raise unknown("operations", "operation of this card", operation.name, [one.name for one in self])
        return timing

    def __contains__(self, operation: object) -> bool:
        return isinstance(operation, Operation) and self.timings[operation] is not None

    def __iter__(self) -> Iterator[Operation]:
        return (operation for operation in Operation if self.timings[operation] is not None)

    def get(self, operation: Operation) -> OperationTiming | None:
        """The times, or None where the card lacks the operation."""
        return self.timings[operation]


def operation_from(name: str, place: str = "operation") -> Operation:
    """The class of that name, in any case; an InputError names the nearest."""
    try:
        return Operation[name.strip().upper()]
    except KeyError:
        raise unknown(place, "operation", name, Operation.__members__) from None

"""Registers with a meaning: indices and addresses with closed forms, predicates with conditions."""

from dataclasses import dataclass

from simulator.trace.schema import Guard
from simulator.workload.affine import Index
from simulator.workload.ir import Part


@dataclass(frozen=True, slots=True)
class Scalar:
    """A 32-bit integer register and the index that it holds."""

    part: Part
    index: Index


@dataclass(frozen=True, slots=True)
class Pointer:
    """A 64-bit global address in a register pair, in bytes."""

    part: Part
    index: Index


@dataclass(frozen=True, slots=True)
class Flag:
    """A predicate register and the conditions that it stands for."""

    part: Part
    guards: tuple[Guard, ...]

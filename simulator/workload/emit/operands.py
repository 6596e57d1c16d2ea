"""Registers with a meaning: integers and addresses with their closed forms, predicates with their conditions."""

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

"""The JSON header of a trace file: launches, operators, tensors, and programs with their instructions and
expressions.

Equal expressions and equal instructions are written once and referred to by number, and fields that have
their default are left out, so that an unrolled program stays small. Keys are sorted: the same traces give
the same bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hwmodels.operations import Operation
from simulator.trace.archive_members import PACKED, is_small, layout
from simulator.trace.expression import Expression
from simulator.trace.schema import Guard, Instruction, KernelTrace, Loop

FORMAT = "stallscope-trace"
VERSION = 1
PLAIN_HEADER = (
    "name",
    "registers_per_thread",
    "shared_bytes_per_block",
    "local_bytes_per_thread",
    "barriers",
    "stream",
    "form",
)
MEETING = "barrier_warps"
DEFAULTS = {field.name: field.default for field in fields(Instruction)}


def encode_header(kernels: Sequence[KernelTrace], *, packed: bool = False) -> bytes:
    """The header of a file with these kernels; `packed`: small recordings are one member each."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kernels": [KernelEncoder(one).encode(packed=packed) for one in kernels],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


class KernelEncoder:
    """Numbers the expressions and instructions of one kernel as they appear."""

    def __init__(self, trace: KernelTrace) -> None:
        self.trace = trace
        self.expressions: dict[Expression, int] = {}
        self.instructions: dict[Instruction, int] = {}

    def encode(self, *, packed: bool = False) -> dict[str, Any]:
        """The kernel as plain values."""
        trace = self.trace
        document: dict[str, Any] = {name: getattr(trace, name) for name in PLAIN_HEADER}
        document["grid"], document["block"] = list(trace.grid), list(trace.block)
        document["operators"] = list(trace.operators)
        document["tensors"] = [[one.name, one.bytes, one.base_address, one.kind] for one in trace.tensors]
        document["meta"] = [list(item) for item in trace.meta]
        if trace.barrier_warps:
            document[MEETING] = list(trace.barrier_warps)
        if trace.program is not None:
            document["program"] = self.body(trace.program.body)
        if trace.recording is not None:
            recording = trace.recording
            document["recording"] = {
                "statics": [self.instruction(one) for one in recording.instructions],
                "fetch_addresses": list(recording.fetch_addresses),
                "accesses": list(recording.accesses),
                "pages": len(recording.pages),
            }
            if packed and is_small(recording):
                document["recording"][PACKED] = layout(recording)
        document["instructions"] = [self.fields_of(one) for one in list(self.instructions)]
        document["expressions"] = [written(one) for one in self.expressions]
        return document

    def body(self, items: tuple[Instruction | Loop, ...]) -> list[Any]:
        """Instructions as numbers, a loop as [trips, body]."""
        return [
            [self.expression(item.trips), self.body(item.body)]
            if isinstance(item, Loop)
            else self.instruction(item)
            for item in items
        ]

    def instruction(self, item: Instruction) -> int:
        return self.instructions.setdefault(item, len(self.instructions))

    def expression(self, item: Expression) -> int:
        return self.expressions.setdefault(item, len(self.expressions))

    def fields_of(self, item: Instruction) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        document: dict[str, Any] = {}
        for name, default in DEFAULTS.items():
            value = getattr(item, name)
            if name == "operation":
                document[name] = Operation(value).name
            elif value != default:
                document[name] = self.value(value)
        return document

    def value(self, value: Any) -> Any:
        """A field's value; expressions and guards by number."""
        if isinstance(value, Expression):
            return self.expression(value)
        if isinstance(value, tuple):
            return [self.value(one) for one in value]
        if isinstance(value, Guard):
            return [self.expression(value.expression), value.low, value.high]
        return value


def written(item: Expression) -> list[Any]:
    """[constant, [coefficient, offset, divisor, modulus, variable, factor, ...], ...]."""
    terms = [
        [
            one.coefficient,
            one.offset,
            one.divisor,
            one.modulus,
            *(int(part) for pair in one.variables for part in pair),
        ]
        for one in item.terms
    ]
    return [item.constant, *terms]

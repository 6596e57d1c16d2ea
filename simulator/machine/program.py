"""Decoded programs: each static instruction with all that the engines need to issue it, looked up once.

The card's operation table, the register-bank rule and the operators that an instruction consumes for are
resolved here, so that issue reads plain fields. Unit kinds say which way an instruction goes after issue. Not
modelled: the reuse cache of operands and bank conflicts of FP64, tensor and memory instructions, whose
operands are read over several cycles anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels import Gpu
from hwmodels.operations import Operation, Pipeline, is_store, uses_lg_queue, uses_mio_queue
from hwmodels.register_file import operand_cycles
from simulator.statistics.phases import (
    ASYNC_COPY,
    GLOBAL_ATOMIC,
    GLOBAL_LOAD,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    LOCAL_LOAD,
    LOCAL_STORE,
    SHARED_ATOMIC,
    SHARED_LOAD,
    SHARED_STORE,
)
from simulator.trace.flat import INSTRUCTION_BYTES
from simulator.trace.schema import RZ, Instruction, KernelTrace

# Unit kinds: where an instruction goes after issue.
MATH, SPECIAL, LG, MIO, COPY_COMMIT, COPY_WAIT, BARRIER_UNIT, FENCE, END, NOTHING = range(10)

_ACCESS_CLASS = {
    Operation.LDG: GLOBAL_LOAD,
    Operation.LD: GLOBAL_LOAD,
    Operation.STG: GLOBAL_STORE,
    Operation.ST: GLOBAL_STORE,
    Operation.ATOMG: GLOBAL_ATOMIC,
    Operation.ATOM: GLOBAL_ATOMIC,
    Operation.REDG: GLOBAL_REDUCTION,
    Operation.LDL: LOCAL_LOAD,
    Operation.STL: LOCAL_STORE,
    Operation.LDGSTS: ASYNC_COPY,
    Operation.LDS: SHARED_LOAD,
    Operation.LDSM: SHARED_LOAD,
    Operation.STS: SHARED_STORE,
    Operation.ATOMS: SHARED_ATOMIC,
}
_KINDS = {
    Operation.ASYNC_COMMIT: COPY_COMMIT,
    Operation.ASYNC_WAIT: COPY_WAIT,
    Operation.BARRIER: BARRIER_UNIT,
    Operation.MEMBAR: FENCE,
    Operation.EXIT: END,
    Operation.NOP: NOTHING,
}
_BANKED_PIPELINES = (Pipeline.ALU, Pipeline.FMA, Pipeline.HALF)


@dataclass(slots=True)
class Decoded:
    """One static instruction, ready to issue. Latency in SM cycles, interval in tenths of a cycle."""

    static: int
    fetch_line: int
    operation: int
    kind: int
    pipeline: int
    latency: int
    interval_tenths: int
    operand_cycles: int
    depends: tuple[int, ...]
    """Every register that must be ready: sources, and destinations too (a write may not overtake one)."""
    dst: tuple[int, ...]
    consumes: tuple[tuple[int, int], ...]
    """(register, bit of the operator) of each operand that comes from a tensor, unless an instruction before
    has surely consumed the same value for the same operator."""
    produces: bool
    """Whether it leaves a tensor's value in a register without a load."""
    bytes_per_lane: int
    access_class: int
    bypass_l1: bool
    count: int
    full_passes: int
    """Data-port cycles that the width alone needs."""


@dataclass(slots=True)
class Program:
    """The decoded program of one kernel on one card."""

    kernel: int
    decoded: list[Decoded]
    lines: int
    """Instruction lines of the program."""
    barrier_warps: tuple[int, ...] = ()
    """Warps that meet at each named barrier; 0, or nothing, for all that have not exited."""


def decode(trace: KernelTrace, kernel: int, gpu: Gpu) -> Program:
    """All static instructions of a trace, decoded for a card; an InputError where the card lacks an
    operation.
    """
    flat = trace.flat()
    # Traces place instructions as if they had the usual size.
    scale, line_bytes = gpu.sm.instruction_bytes, gpu.sm.fetch_line_bytes * INSTRUCTION_BYTES
    decoded = [
        _decode(instruction, index, address * scale // line_bytes, gpu)
        for index, (instruction, address) in enumerate(
            zip(flat.instructions, flat.fetch_addresses, strict=True)
        )
    ]
    if trace.recording is None:
        _drop_repeats(decoded, flat.steps)
    return Program(kernel, decoded, max(one.fetch_line for one in decoded) + 1, trace.barrier_warps)


def _drop_repeats(decoded: list[Decoded], steps: list[int]) -> None:
    """Leave out consumptions that can't be first ones: between two marks every instruction is issued in turn,
    whatever its lanes, so a value that one has consumed and none has overwritten is consumed.
    """
    consumed: dict[int, int] = {}
    for step in steps:
        if step < 0:
            consumed.clear()
            continue
        one = decoded[step]
        kept = []
        for register, bit in one.consumes:
            bits = consumed.get(register, 0)
            if not bits & bit:
                kept.append((register, bit))
                consumed[register] = bits | bit
        one.consumes = tuple(kept)
        for register in one.dst:
            consumed.pop(register, None)


def _decode(instruction: Instruction, static: int, fetch_line: int, gpu: Gpu) -> Decoded:
    operation = instruction.operation
    timing = gpu.operations[operation]
    kind = _kind(operation, timing.pipeline)
    latency = instruction.latency if operation is Operation.OPAQUE else timing.latency_cycles
    bit = 1 << instruction.operator if instruction.operator >= 0 else 0
    consumes = tuple(
        (register, bit)
        for register, tensor in zip(instruction.src, instruction.src_tensors, strict=False)
        if tensor >= 0 and bit and register != RZ
    )
    # A store's completion wakes nobody, so it may not mark a register, whatever a trace says.
    stores = is_store(operation) or operation is Operation.REDG
    dst = () if stores else tuple(r for r in instruction.dst if r != RZ)
    return Decoded(
        static=static,
        fetch_line=fetch_line,
        operation=int(operation),
        kind=kind,
        pipeline=int(timing.pipeline),
        latency=max(latency, 1),
        interval_tenths=timing.interval_tenths,
        operand_cycles=_operand_cycles(instruction, timing.pipeline, gpu),
        depends=tuple(sorted({r for r in instruction.src + dst if r != RZ})) or (RZ,),
        dst=dst,
        consumes=consumes,
        produces=instruction.dst_tensor >= 0 and kind in (MATH, SPECIAL),
        bytes_per_lane=instruction.bytes_per_lane,
        access_class=_ACCESS_CLASS.get(operation, -1),
        bypass_l1=instruction.cache in ("cg", "cv", "cs") and operation in (Operation.LDG, Operation.LDGSTS),
        count=instruction.count,
        full_passes=max(1, instruction.bytes_per_lane // 4),
    )


def _kind(operation: Operation, pipeline: Pipeline) -> int:
    if operation in _KINDS:
        return _KINDS[operation]
    if uses_lg_queue(operation):
        return LG
    if uses_mio_queue(operation):
        return MIO
    return SPECIAL if pipeline is Pipeline.SFU else MATH


def _operand_cycles(instruction: Instruction, pipeline: Pipeline, gpu: Gpu) -> int:
    """Cycles to read the operands of a pipeline that takes them all at once; 1 for the others."""
    if pipeline not in _BANKED_PIPELINES:
        return 1
    sources = [r for r in dict.fromkeys(instruction.src) if r < RZ]
    r0, r1, r2, r3 = (sources + [-1] * 4)[:4]
    return max(1, operand_cycles(r0, r1, r2, r3, gpu.register_file.banks, gpu.register_file.bank_ports))

"""Parts of a generated launch: its first blocks, or its last, each block doing what it does in the whole; and
a launch whose tensors lie elsewhere.

A sampled replay runs the first blocks of a kernel, and the last blocks of the kernels before it for what they
leave in the caches. The first blocks keep the grid, so that block numbers mean the same. The last ones are a
smaller grid whose expressions count on from the blocks that are left out, which is exact because the block's
number stands only inside affine terms. Recordings are not cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hwmodels.operations import Operation
from simulator.trace.expression import Expression, Term, Variable
from simulator.trace.schema import Guard, Instruction, KernelTrace, Loop, Program

SLOWEST = (Variable.BLOCK_X, Variable.BLOCK_Y, Variable.BLOCK_Z)


@dataclass(frozen=True, slots=True)
class FirstBlocks(KernelTrace):
    """A launch that ends after `limit` blocks of its grid."""

    limit: int = 0

    @property
    def blocks(self) -> int:
        """Thread blocks that are launched."""
        return self.limit


def first_blocks(trace: KernelTrace, count: int) -> KernelTrace:
    """The launch of blocks 0 to count − 1; all of them is the trace itself."""
    if count >= trace.blocks:
        return trace
    header: dict[str, Any] = {one.name: getattr(trace, one.name) for one in fields(trace) if one.init}
    return FirstBlocks(**header, limit=count)


def inner_blocks(trace: KernelTrace) -> int:
    """Blocks in one step of the grid's slowest dimension: the granule in which a launch can be begun late."""
    x, y, z = trace.grid
    return x * y if z > 1 else x if y > 1 else 1


def last_blocks(trace: KernelTrace, count: int) -> KernelTrace:
    """The launch of at least the last `count` blocks, rounded up to whole steps of the slowest dimension."""
    inner = inner_blocks(trace)
    steps = trace.blocks // inner
    left_out = steps - min(steps, -(-count // inner))
    if not left_out or trace.program is None:
        return trace
    axis = 2 if trace.grid[2] > 1 else 1 if trace.grid[1] > 1 else 0
    grid = list(trace.grid)
    grid[axis] -= left_out
    ahead = {Variable.BLOCK: left_out * inner, SLOWEST[axis]: left_out}
    program = Program(_body(trace.program.body, ahead))
    return replace(trace, grid=(grid[0], grid[1], grid[2]), program=program)


def moved(trace: KernelTrace, bytes_by_kind: Mapping[str, int]) -> KernelTrace:
    """The launch with its tensors of some kinds that many bytes further on."""
    shifts = [
        (one.base_address, one.base_address + one.bytes, bytes_by_kind.get(one.kind, 0))
        for one in trace.tensors
    ]
    if trace.program is None or not any(shift for _, _, shift in shifts):
        return trace
    tensors = tuple(
        replace(one, base_address=one.base_address + shift)
        for one, (_, _, shift) in zip(trace.tensors, shifts, strict=True)
    )

    def place(item: Instruction | Loop) -> Instruction | Loop:
        if isinstance(item, Loop):
            return Loop(item.trips, tuple(place(one) for one in item.body))
        if item.address is None or item.operation in (Operation.LDS, Operation.STS):
            return item
        at = item.address.constant
        further = next((shift for low, high, shift in shifts if low <= at < high), 0)
        return replace(item, address=item.address + further) if further else item

    program = Program(tuple(place(one) for one in trace.program.body))
    return replace(trace, tensors=tensors, program=program)


Ahead = dict[Variable, int]


def _body(items: tuple[Instruction | Loop, ...], ahead: Ahead) -> tuple[Instruction | Loop, ...]:
    return tuple(
        Loop(_expression(item.trips, ahead), _body(item.body, ahead))
        if isinstance(item, Loop)
        else _instruction(item, ahead)
        for item in items
    )


def _instruction(item: Instruction, ahead: Ahead) -> Instruction:
    shared = item.shared_address
    return replace(
        item,
        guards=tuple(Guard(_expression(one.expression, ahead), one.low, one.high) for one in item.guards),
        address=None if item.address is None else _expression(item.address, ahead),
        shared_address=None if shared is None else _expression(shared, ahead),
    )


def _expression(one: Expression, ahead: Ahead) -> Expression:
    return Expression(one.constant, tuple(_term(term, ahead) for term in one.terms))


def _term(term: Term, ahead: Ahead) -> Term:
    more = sum(factor * ahead.get(variable, 0) for variable, factor in term.variables)
    return replace(term, offset=term.offset + more) if more else term

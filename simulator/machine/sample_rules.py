"""Which kernels a sample may stand for, and how many blocks must pass before their blocks are alike.

A kernel qualifies if it is generated and no trip count depends on the block: then blocks differ in addresses
and edge guards alone. A grid of several rows, and addresses with quotients and remainders of the block's
number, repeat themselves after some blocks; a sample must hold that period more than once. Guards are not
trusted: lanes of blocks that would be left out are counted against blocks at the same place of the period.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.trace.expression import Expression, Term, Variable
from simulator.trace.part import inner_blocks
from simulator.trace.schema import Instruction, KernelTrace, Loop

BLOCK_VARIABLES = frozenset({Variable.BLOCK, Variable.BLOCK_X, Variable.BLOCK_Y, Variable.BLOCK_Z})
SMALL_BYTES = 1 << 16
"""A table that a remainder walks through again and again costs nothing to speak of below this size."""
PROBES = 12
PROBE_STEPS = 4000


def reason_for_whole(trace: KernelTrace) -> str:
    """Why no sample can stand for the kernel; empty if one can."""
    if trace.program is None:
        return "a recording"
    if any(loop.trips.variables() & BLOCK_VARIABLES for loop in _loops(trace.program.body)):
        return "trip counts depend on the block"
    return ""


def period_blocks(trace: KernelTrace) -> int:
    """Blocks after which the grid's rows and the addresses have gone through all that they repeat."""
    x, y, _ = trace.grid
    blocks_of = {Variable.BLOCK: 1, Variable.BLOCK_X: 1, Variable.BLOCK_Y: x, Variable.BLOCK_Z: x * y}
    longest = inner_blocks(trace)
    for expression in _expressions(trace):
        for term in expression.terms:
            for found in _periods(term, blocks_of):
                if found < trace.blocks:
                    longest = max(longest, found)
    return longest


def _periods(term: Term, blocks_of: dict[Variable, int]) -> Iterator[int]:
    """After how many blocks a quotient steps and a remainder starts over."""
    if term.divisor == 1 and not term.modulus:
        return
    small = term.modulus and abs(term.coefficient) * term.modulus <= SMALL_BYTES
    for variable, factor in term.variables:
        if variable in blocks_of and factor and not small:
            turn = term.divisor * (term.modulus or 1)
            yield -(-turn // abs(factor)) * blocks_of[variable]


def uneven_ppm(trace: KernelTrace, replayed: int, period: int) -> int:
    """How far lanes of blocks left out differ from those of their counterparts that run, in millionths."""
    guarded = any(
        guard.expression.variables() & BLOCK_VARIABLES
        for item in trace.flat().instructions
        for guard in item.guards
    )
    if not guarded:
        return 0
    left_out = trace.blocks - replayed
    ours = theirs = 0
    for probe in range(PROBES):
        block = replayed + (2 * probe + 1) * left_out // (2 * PROBES)
        rows = max(1, replayed // period)
        twin = block % period + period * (probe % rows)
        theirs += _lanes(trace, block)
        ours += _lanes(trace, twin if twin < replayed else block % period)
    return 1_000_000 * abs(ours - theirs) // max(1, theirs)


def _lanes(trace: KernelTrace, block: int) -> int:
    """Active lanes over the first instructions of the block's first and last warp."""
    lanes = 0
    for warp in {0, trace.warps_per_block - 1}:
        cursor = trace.cursor(block, warp)
        for _ in range(PROBE_STEPS):
            if cursor.peek() < 0:
                break
            lanes += cursor.mask().bit_count()
            cursor.advance()
    return lanes


def _loops(items: tuple[Instruction | Loop, ...]) -> Iterator[Loop]:
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from _loops(item.body)


def _expressions(trace: KernelTrace) -> Iterator[Expression]:
    for item in trace.flat().instructions:
        if item.address is not None:
            yield item.address
        for guard in item.guards:
            yield guard.expression

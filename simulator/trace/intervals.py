"""Bounds of an expression over a box of variable values, by interval arithmetic.

Exact for sums of independent variables; variables that hang together (BLOCK and BLOCK_X, a quotient and a
remainder of one counter) make the bounds wider than the truth, never narrower. So a bound inside a limit is
a proof, one outside a suspicion.
"""

from collections.abc import Sequence

from simulator.trace.expression import VARIABLES, Expression, Term, Variable
from simulator.trace.schema import LANES, KernelTrace

Interval = tuple[int, int]


def term_interval(term: Term, box: Sequence[Interval]) -> Interval:
    """Least and greatest value of one term over the box."""
    low = high = term.offset
    for variable, factor in term.variables:
        ends = (factor * box[variable][0], factor * box[variable][1])
        low, high = low + min(ends), high + max(ends)
    low, high = low // term.divisor, high // term.divisor
    if term.modulus:
        if low // term.modulus == high // term.modulus:
            low, high = low % term.modulus, high % term.modulus
        else:
            low, high = 0, term.modulus - 1
    ends = (term.coefficient * low, term.coefficient * high)
    return min(ends), max(ends)


def interval(expression: Expression, box: Sequence[Interval]) -> Interval:
    """Least and greatest value over the box."""
    low = high = expression.constant
    for term in expression.terms:
        least, greatest = term_interval(term, box)
        low, high = low + least, high + greatest
    return low, high


def launch_box(trace: KernelTrace) -> list[Interval]:
    """The box of all blocks, warps and lanes of a launch; loop counters stand at 0 until a loop sets them."""
    x, y, z = trace.grid
    box: list[Interval] = [(0, 0)] * VARIABLES
    box[Variable.BLOCK] = (0, x * y * z - 1)
    box[Variable.BLOCK_X], box[Variable.BLOCK_Y], box[Variable.BLOCK_Z] = (0, x - 1), (0, y - 1), (0, z - 1)
    box[Variable.WARP] = (0, trace.warps_per_block - 1)
    box[Variable.LANE] = (0, min(LANES, trace.threads_per_block) - 1)
    box[Variable.THREAD] = (0, trace.threads_per_block - 1)
    return box

"""The value of an expression of a trace for one warp: a base, and an offset for each lane.

The reference is `simulator/trace/compiled_expression.py`, whose parts stand here in tables. Offsets without
quotients of the lane are kept patterns; others are worked out in place.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_sm import LANES, expression, quotient


@inlined
def _sum(m: Any, total: int, first: int, pairs: int, warp: Any) -> int:
    for pair in range(first, first + pairs):
        total += load(m.pairs, 2 * pair + 1) * warp.values[load(m.pairs, 2 * pair)]
    return total


@compiled
def uniform(m: Any, which: int, warp: Any) -> int:
    """The part without quotients of the lane."""
    source = expression(m.expressions, which)
    total = _sum(m, source.constant, source.pairs, source.pair_count, warp)
    for index in range(source.quotients, source.quotients + source.quotient_count):
        term = quotient(m.quotients, index)
        part = _sum(m, term.offset, term.pairs, term.pair_count, warp) // term.divisor
        if term.modulus:
            part %= term.modulus
        total += term.coefficient * part
    return total


@compiled
def lane_offsets(m: Any, which: int, warp: Any, offsets: Any) -> int:
    """Work out the offsets of an expression with quotients of the lane; returns what they add to the base."""
    source = expression(m.expressions, which)
    for lane in range(LANES):
        offsets[lane] = source.stride * lane
    added = 0
    for index in range(source.lane_terms, source.lane_terms + source.lane_count):
        term = quotient(m.quotients, index)
        part = _sum(m, term.offset, term.pairs, term.pair_count, warp)
        residue = part % term.period
        if not term.modulus:
            added += term.coefficient * ((part - residue) // term.divisor)
        for lane in range(LANES):
            inner = (residue + term.lane_factor * lane) // term.divisor
            if term.modulus:
                inner %= term.modulus
            offsets[lane] += term.coefficient * inner
    shift = offsets[0]
    for lane in range(LANES):
        offsets[lane] -= shift
    return added + shift

"""The value of an expression of a trace for one warp: a base, and an offset for each lane.

The reference is `simulator/trace/compiled_expression.py`, whose parts stand here in tables. Offsets without
quotients of the lane are patterns from the start. Others follow from what is inside these quotients, modulo
their periods; since that is the same again and again, they become patterns too while there is room, and are
never taken out, since requests under way name them.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_sm import (
    LANES,
    MOST_LANE_TERMS,
    expression,
    kept_offsets,
    pattern_at,
    quotient,
)

OWN_OFFSETS = -1
"""The pattern of a request that holds its offsets itself."""
KEPT_PATTERNS, TRIES = 8192, 4
"""Places for patterns that come up in the run, a power of two, and how many are looked at."""


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


@inlined
def _is_kept(m: Any, kept: Any, which: int, terms: int) -> int:
    same = 1 if kept.expression == which else 0
    for index in range(terms):
        if kept.residues[index] != m.residues[index]:
            same = 0
    return same


@compiled
def _keep(m: Any, slot: int, which: int, warp: Any, added: int) -> None:
    """Make a pattern of an expression's present offsets."""
    kept = kept_offsets(m.kept_offsets, slot)
    offsets = pattern_at(m.patterns, m.first_kept + slot).offsets
    kept.expression = which
    kept.shift = lane_offsets(m, which, warp, offsets) - added
    kept.low = 0
    kept.high = 0
    for lane in range(LANES):
        kept.low = min(kept.low, offsets[lane])
        kept.high = max(kept.high, offsets[lane])
    for index in range(expression(m.expressions, which).lane_count):
        kept.residues[index] = m.residues[index]


@compiled
def kept_pattern(m: Any, which: int, warp: Any) -> tuple[int, int]:
    """Of an expression with quotients of the lane: where its present offsets are kept, or OWN_OFFSETS where
    they are not; and what they add to the base.
    """
    source = expression(m.expressions, which)
    if source.lane_count > MOST_LANE_TERMS:
        return OWN_OFFSETS, 0
    added = 0
    mixed = which
    for index in range(source.lane_count):
        term = quotient(m.quotients, source.lane_terms + index)
        part = _sum(m, term.offset, term.pairs, term.pair_count, warp)
        residue = part % term.period
        if not term.modulus:
            added += term.coefficient * ((part - residue) // term.divisor)
        m.residues[index] = residue
        mixed = mixed * 31 + residue
    for tries in range(TRIES):
        slot = ((mixed ^ mixed >> 10) + tries) & (KEPT_PATTERNS - 1)
        kept = kept_offsets(m.kept_offsets, slot)
        if kept.expression < 0:
            _keep(m, slot, which, warp, added)
        if _is_kept(m, kept, which, source.lane_count):
            return slot, added + kept.shift
    return OWN_OFFSETS, 0


@compiled
def put_offsets(m: Any, which: int, warp: Any, request: Any) -> int:
    """Give a request the offsets of an expression with quotients of the lane, as a pattern if they are one;
    returns what they add to the base.
    """
    slot, added = kept_pattern(m, which, warp)
    if slot == OWN_OFFSETS:
        request.pattern = OWN_OFFSETS
        return lane_offsets(m, which, warp, request.offsets)
    request.pattern = m.first_kept + slot
    return added

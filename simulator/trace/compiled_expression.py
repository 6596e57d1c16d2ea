"""Expressions prepared for the replay's inner loop: one integer for the warp plus a pattern of 32 lane
offsets.

The value of lane i is base + offsets[i] with offsets[0] = 0. Where LANE appears only linearly the pattern
is fixed when the expression is compiled; quotients and remainders of LANE depend on the rest of the term
only through a residue, so their patterns are kept in a small memo by that residue. The memo is a cache: it
never decides a result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.trace.expression import Expression, Term, Variable

LANE_RANGE = range(32)
MEMO_LIMIT = 4096
INTERN_LIMIT = 65536
ZERO_OFFSETS = (0,) * 32

Offsets = tuple[int, ...]


@dataclass(slots=True)
class Patterns:
    """Lane patterns of one kernel, each kept once, so that equal patterns are mostly the same object."""

    known: dict[Offsets, Offsets] = field(default_factory=lambda: {ZERO_OFFSETS: ZERO_OFFSETS})

    def intern(self, offsets: Offsets) -> Offsets:
        """The kept tuple that equals `offsets`; beyond the limit new ones are passed through unkept."""
        found = self.known.get(offsets)
        if found is not None:
            return found
        if len(self.known) < INTERN_LIMIT:
            self.known[offsets] = offsets
        return offsets


@dataclass(slots=True)
class LaneTerm:
    """A term whose quotient or remainder holds LANE: uniform inner part, lane factor, the rest."""

    coefficient: int
    linear: tuple[tuple[int, int], ...]
    offset: int
    lane_factor: int
    divisor: int
    modulus: int
    period: int


@dataclass(slots=True)
class CompiledExpression:
    """`base + offsets[lane]`, ready to evaluate against the list of variable values of a warp."""

    constant: int
    linear: tuple[tuple[int, int], ...]
    quotients: tuple[tuple[int, tuple[tuple[int, int], ...], int, int, int], ...]
    lane_terms: tuple[LaneTerm, ...]
    stride: int
    offsets: Offsets
    low: int
    high: int
    patterns: Patterns
    memo: dict[tuple[int, ...], tuple[int, Offsets, int, int]] = field(default_factory=dict)

    def uniform(self, values: Sequence[int]) -> int:
        """The part without LANE."""
        total = self.constant
        for variable, factor in self.linear:
            total += factor * values[variable]
        for coefficient, inner, offset, divisor, modulus in self.quotients:
            part = offset
            for variable, factor in inner:
                part += factor * values[variable]
            part //= divisor
            total += coefficient * (part % modulus if modulus else part)
        return total

    def evaluate(self, values: Sequence[int]) -> tuple[int, Offsets, int, int]:
        """(base, offsets, least offset, greatest offset) for a warp with these variable values."""
        base = self.uniform(values)
        if not self.lane_terms:
            return base, self.offsets, self.low, self.high
        key = []
        for term in self.lane_terms:
            part = term.offset
            for variable, factor in term.linear:
                part += factor * values[variable]
            residue = part % term.period
            if not term.modulus:
                base += term.coefficient * ((part - residue) // term.divisor)
            key.append(residue)
        residues = tuple(key)
        found = self.memo.get(residues)
        if found is None:
            if len(self.memo) >= MEMO_LIMIT:
                self.memo.clear()
            found = self.memo[residues] = self.pattern(residues)
        shift, offsets, low, high = found
        return base + shift, offsets, low, high

    def pattern(self, residues: tuple[int, ...]) -> tuple[int, Offsets, int, int]:
        """(shift of the base, offsets, least, greatest) for the lane terms at these residues."""
        values = [self.stride * lane for lane in LANE_RANGE]
        for term, residue in zip(self.lane_terms, residues, strict=True):
            for lane in LANE_RANGE:
                inner = (residue + term.lane_factor * lane) // term.divisor
                values[lane] += term.coefficient * (inner % term.modulus if term.modulus else inner)
        shift = values[0]
        offsets = tuple(value - shift for value in values)
        return shift, self.patterns.intern(offsets), min(offsets), max(offsets)


def split(term: Term) -> tuple[dict[int, int], int]:
    """The inner factors of a term by uniform variable, and that of LANE; THREAD is 32 * WARP + LANE."""
    uniform: dict[int, int] = {}
    lane = 0
    for variable, factor in term.variables:
        if variable == Variable.LANE:
            lane += factor
        elif variable == Variable.THREAD:
            lane += factor
            uniform[int(Variable.WARP)] = uniform.get(int(Variable.WARP), 0) + 32 * factor
        else:
            uniform[int(variable)] = uniform.get(int(variable), 0) + factor
    return uniform, lane


def compile_expression(source: Expression, patterns: Patterns) -> CompiledExpression:
    """Sort the terms into plain sums, warp-uniform quotients, and quotients that hold LANE."""
    constant = source.constant
    stride = 0
    linear: dict[int, int] = {}
    quotients = []
    lane_terms = []
    for term in source.terms:
        uniform, lane = split(term)
        if term.divisor == 1 and not term.modulus:
            constant += term.coefficient * term.offset
            stride += term.coefficient * lane
            for variable, factor in uniform.items():
                linear[variable] = linear.get(variable, 0) + term.coefficient * factor
        elif lane == 0:
            pairs = tuple(uniform.items())
            quotients.append((term.coefficient, pairs, term.offset, term.divisor, term.modulus))
        else:
            period = term.divisor * (term.modulus or 1)
            pairs = tuple(uniform.items())
            lane_terms.append(
                LaneTerm(term.coefficient, pairs, term.offset, lane, term.divisor, term.modulus, period)
            )
    offsets = patterns.intern(tuple(stride * lane for lane in LANE_RANGE))
    pairs = tuple((variable, factor) for variable, factor in linear.items() if factor)
    return CompiledExpression(
        constant,
        pairs,
        tuple(quotients),
        tuple(lane_terms),
        stride,
        offsets,
        min(offsets),
        max(offsets),
        patterns,
    )

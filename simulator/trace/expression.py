"""Quasi-affine integer expressions of block, warp, lane and loop counters: addresses, guards and trip
counts of a generated trace.

An expression is a constant plus terms `coefficient * (((sum of factor * variable + offset) // divisor) %
modulus)` with floor semantics, which covers tiled, transposed, strided and rotated accesses of dense
kernels. It does not model data-dependent addresses: those belong to the recorded form. Python's operators
build expressions, so `block * 256 + thread` reads as meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from hwmodels.errors import InputError

MAX_LOOP_DEPTH = 8


class Variable(IntEnum):
    """What an expression may depend on.

    `BLOCK` is x + grid_x * (y + grid_y * z); `THREAD` is 32 * WARP + LANE.
    """

    BLOCK = 0
    BLOCK_X = 1
    BLOCK_Y = 2
    BLOCK_Z = 3
    WARP = 4
    LANE = 5
    THREAD = 6
    LOOP0 = 7
    LOOP1 = 8
    LOOP2 = 9
    LOOP3 = 10
    LOOP4 = 11
    LOOP5 = 12
    LOOP6 = 13
    LOOP7 = 14


VARIABLES = len(Variable)


@dataclass(frozen=True, slots=True)
class Term:
    """`coefficient * (((sum of factor * variable + offset) // divisor) % modulus)`; modulus 0 means none."""

    coefficient: int
    variables: tuple[tuple[Variable, int], ...]
    offset: int = 0
    divisor: int = 1
    modulus: int = 0

    def evaluate(self, values: Sequence[Any]) -> Any:
        """The term's value where `values[variable]` is an integer or a NumPy array over lanes."""
        inner: Any = self.offset
        for variable, factor in self.variables:
            inner = inner + factor * values[variable]
        if self.divisor != 1:
            inner = inner // self.divisor
        if self.modulus:
            inner = inner % self.modulus
        return self.coefficient * inner

    @property
    def linear(self) -> bool:
        """Whether the term is a plain multiple of one variable."""
        return self.divisor == 1 and not self.modulus and not self.offset and len(self.variables) == 1


@dataclass(frozen=True, slots=True)
class Expression:
    """A constant plus terms, in the unit of what it stands for (bytes of an address, turns of a loop)."""

    constant: int = 0
    terms: tuple[Term, ...] = ()

    def evaluate(self, values: Sequence[Any]) -> Any:
        """The value where `values[variable]` is an integer or a NumPy array over lanes."""
        total: Any = self.constant
        for term in self.terms:
            total = total + term.evaluate(values)
        return total

    def variables(self) -> frozenset[Variable]:
        """Every variable that the value may depend on."""
        return frozenset(variable for term in self.terms for variable, factor in term.variables if factor)

    def __add__(self, other: "Expression | int") -> "Expression":
        right = expression(other)
        return simplified(self.constant + right.constant, self.terms + right.terms)

    __radd__ = __add__

    def __neg__(self) -> "Expression":
        return self * -1

    def __sub__(self, other: "Expression | int") -> "Expression":
        return self + (-expression(other))

    def __rsub__(self, other: "Expression | int") -> "Expression":
        return -self + other

    def __mul__(self, factor: "Expression | int") -> "Expression":
        if isinstance(factor, Expression):
            raise InputError(
                "expression", "a product of two variables is not affine", "multiply by an integer"
            )
        scaled = tuple(Term(term.coefficient * factor, *rest(term)) for term in self.terms)
        return simplified(self.constant * factor, scaled)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> "Expression":
        if divisor < 1:
            raise InputError("expression", f"cannot divide by {divisor!r}", "divide by a positive integer")
        if divisor == 1 or not self.terms:
            return self if divisor == 1 else Expression(self.constant // divisor)
        inner = self.inner()
        if inner.modulus % divisor:
            raise InputError(
                "expression",
                f"(… % {inner.modulus}) // {divisor} has no closed term",
                "divide before the remainder",
            )
        modulus = inner.modulus // divisor
        if inner.modulus and modulus == 1:
            return Expression()
        return Expression(0, (Term(1, inner.variables, inner.offset, inner.divisor * divisor, modulus),))

    def __mod__(self, modulus: int) -> "Expression":
        if modulus < 1:
            raise InputError("expression", f"no remainder by {modulus!r}", "use a positive integer")
        if modulus == 1 or not self.terms:
            return Expression(self.constant % modulus)
        inner = self.inner()
        if inner.modulus % modulus:
            raise InputError(
                "expression",
                f"(… % {inner.modulus}) % {modulus} has no closed term",
                f"use a divisor of {inner.modulus}",
            )
        return Expression(0, (Term(1, inner.variables, inner.offset, inner.divisor, modulus),))

    def inner(self) -> Term:
        """This expression as the inside of one term, ready to be divided; sums of quotients are refused."""
        if len(self.terms) == 1 and self.constant == 0 and self.terms[0].coefficient == 1:
            return self.terms[0]
        if not all(term.linear for term in self.terms):
            raise InputError(
                "expression", "a quotient of a sum of quotients has no closed term", "divide plain sums only"
            )
        factors = tuple(
            (term.variables[0][0], term.coefficient * term.variables[0][1]) for term in self.terms
        )
        return Term(1, factors, self.constant)


def rest(term: Term) -> tuple[tuple[tuple[Variable, int], ...], int, int, int]:
    """A term without its coefficient: two terms with the same rest can be added."""
    return term.variables, term.offset, term.divisor, term.modulus


def simplified(constant: int, terms: tuple[Term, ...]) -> Expression:
    """The sum with equal terms merged and zero terms dropped; the order of first appearance is kept."""
    totals: dict[tuple[tuple[tuple[Variable, int], ...], int, int, int], int] = {}
    for term in terms:
        totals[rest(term)] = totals.get(rest(term), 0) + term.coefficient
    return Expression(constant, tuple(Term(total, *key) for key, total in totals.items() if total))


def expression(value: Expression | int) -> Expression:
    """`value` itself, or an integer as a constant expression."""
    return value if isinstance(value, Expression) else Expression(value)


def of(variable: Variable) -> Expression:
    """The expression that is one variable."""
    return Expression(0, (Term(1, ((variable, 1),)),))


def loop(depth: int) -> Expression:
    """The counter of the loop at nesting depth 0 (outermost) to 7."""
    if not 0 <= depth < MAX_LOOP_DEPTH:
        raise InputError("expression", f"no loop at depth {depth}", f"depths are 0 to {MAX_LOOP_DEPTH - 1}")
    return of(Variable(Variable.LOOP0 + depth))


block = of(Variable.BLOCK)
block_x = of(Variable.BLOCK_X)
block_y = of(Variable.BLOCK_Y)
block_z = of(Variable.BLOCK_Z)
warp = of(Variable.WARP)
lane = of(Variable.LANE)
thread = of(Variable.THREAD)

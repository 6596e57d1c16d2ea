"""Exponentials, logarithms, roots, quotients and powers from the special function unit, with the scaling that
a compiler adds because the unit takes subnormal numbers for zero.

Quotients are corrected by multiply-adds where they are far from overflow and underflow; hardware programs
leave the other cases to a slow routine, which is not modelled: there the unit's own answer stands.
"""

from collections.abc import Sequence
from math import log, log2

from simulator.workload.builders.floats import Floats
from simulator.workload.ir import Function, Part, Rounding

LEAST = 2.0**-126
LOG2_E = 1 / log(2)
Numbers = tuple[float, ...]


def exponential2(f: Floats, power: Part, into: Part | None = None) -> Part:
    """2 to a power that may be overwritten: halved where it is small, then squared."""
    small = f.below(power, log2(LEAST))
    f.multiply(power, 0.5, power, only=small)
    made = f.function(Function.EXPONENTIAL, power, into)
    return f.multiply(made, made, made, only=small)


def exponential(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """E to the power src0."""
    return exponential2(f, f.multiply(src[0], LOG2_E), into)


def logarithm2(f: Floats, value: Part, into: Part | None = None) -> Part:
    """The logarithm to base 2; small numbers are scaled up before."""
    small = f.below(value, LEAST)
    scaled = f.multiply(value, f.choose(small, 2.0**24, 1.0))
    return f.add(f.function(Function.LOGARITHM, scaled), f.choose(small, -24.0, 0.0), into)


def logarithm(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """The natural logarithm of src0."""
    return f.multiply(logarithm2(f, src[0]), log(2), into)


def root(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """The square root of src0."""
    small = f.below(src[0], LEAST)
    made = f.function(Function.ROOT, f.multiply(src[0], f.choose(small, 2.0**24, 1.0)))
    return f.multiply(made, f.choose(small, 2.0**-12, 1.0), into)


def reciprocal_root(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """One over the square root of src0."""
    small = f.below(src[0], LEAST)
    made = f.function(Function.RECIPROCAL_ROOT, f.multiply(src[0], f.choose(small, 2.0**24, 1.0)))
    return f.multiply(made, f.choose(small, 2.0**12, 1.0), into)


def reciprocal(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """One over src0, with one correction."""
    made = f.function(Function.RECIPROCAL, src[0], into)
    ordinary = f.ordinary(src[0])
    error = f.fused_negated(src[0], made, f.constant(1.0), only=ordinary)
    return f.fused(made, error, made, made, only=ordinary)


def quotient(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """Src0 / src1: the reciprocal corrected, then the quotient corrected by its remainder."""
    dividend, divisor = src
    inverse = f.function(Function.RECIPROCAL, divisor)
    made = f.multiply(dividend, inverse, into)
    ordinary = f.ordinary(divisor, dividend)
    error = f.fused_negated(divisor, inverse, f.constant(1.0), only=ordinary)
    f.fused(inverse, error, inverse, inverse, only=ordinary)
    f.multiply(dividend, inverse, made, only=ordinary)
    rest = f.fused_negated(divisor, made, dividend, only=ordinary)
    return f.fused(rest, inverse, made, made, only=ordinary)


def power(f: Floats, src: Sequence[Part], numbers: Numbers = (), into: Part | None = None) -> Part:
    """Src0 to the power src1, or numbers[0]: products for 2 and 3, a root for 0.5, else by logarithm."""
    base = src[0]
    if numbers and numbers[0] == 2:
        return f.multiply(base, base, into)
    if numbers and numbers[0] == 3:
        return f.multiply(f.multiply(base, base), base, into)
    if numbers and numbers[0] == 0.5:
        return root(f, src, (), into)
    exponent = src[1] if not numbers else f.constant(numbers[0])
    size = exponential2(f, f.multiply(logarithm2(f, f.absolute(base)), exponent))
    whole = f.equals(f.rounded(exponent, Rounding.ZERO), exponent)
    half = f.multiply(exponent, 0.5)
    even = f.equals(f.rounded(half, Rounding.ZERO), half)
    negative = f.choose(whole, f.choose(even, 1.0, -1.0), float("nan"))
    sign = f.choose(f.below(base, 0.0), negative, 1.0)
    none = f.equals(exponent, 0.0)
    return f.choose(none, 1.0, f.multiply(size, sign), into)

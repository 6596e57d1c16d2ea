"""Sigmoid, tanh, erf and the activation functions made of them, in single precision.

Near zero tanh and erf are polynomials, beyond it they come from an exponential; both are computed and one is
chosen, since lanes do not diverge here. The polynomials are Chebyshev fits of our own, good to two units of
the last place.
"""

from collections.abc import Sequence
from math import pi, sqrt

from simulator.workload.builders.floats import Floats
from simulator.workload.builders.special_functions import (
    LOG2_E,
    Numbers,
    exponential,
    exponential2,
    logarithm,
)
from simulator.workload.ir import Function, Part

TANH = (-0.3333333043, 0.1333292401, -0.05387513883, 0.02111621633, -0.006276390523)
ERF = (0.1283791274, -0.3761234978, 0.1128036441, -0.0267163851, 0.004923277665, -0.000565410586)
LOG2_ERFC = (
    0.0002694321019,
    -1.629627146,
    -0.9135657565,
    -0.1563876803,
    0.03634864062,
    -0.006058030345,
    0.0006349700691,
    -3.112643671e-05,
)


def sigmoid(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """1 / (1 + e^-x)."""
    made = exponential2(f, f.multiply(src[0], -LOG2_E))
    return f.function(Function.RECIPROCAL, f.add(made, 1.0), into)


def tanh(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """The hyperbolic tangent: 1 - 2 / (e^2|x| + 1) with x's sign, or a polynomial below 0.55."""
    x = src[0]
    size = f.absolute(x)
    inverse = f.function(Function.RECIPROCAL, f.add(exponential2(f, f.multiply(size, 2 * LOG2_E)), 1.0))
    far = f.with_sign(f.fused(inverse, -2.0, 1.0), x)
    square = f.multiply(x, x)
    near = f.fused(f.multiply(f.polynomial(square, TANH), square), x, x)
    return f.choose(f.below(size, 0.55), near, far, into)


def erf(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """The error function: 1 - 2^q(|x|) with x's sign, or a polynomial below 1."""
    x = src[0]
    size = f.absolute(x)
    rest = exponential2(f, f.polynomial(f.minimum(size, 4.0), LOG2_ERFC))
    far = f.with_sign(f.fused(rest, -1.0, 1.0), x)
    near = f.fused(f.polynomial(f.multiply(x, x), ERF), x, x)
    return f.choose(f.below(size, 1.0), near, far, into)


def gelu(f: Floats, src: Sequence[Part], numbers: Numbers = (), into: Part | None = None) -> Part:
    """Of x: x Φ(x); numbers[0] = 1 asks for the approximation by tanh."""
    x = src[0]
    if numbers and numbers[0]:
        cube = f.multiply(f.multiply(x, x), x)
        inner = f.multiply(f.fused(cube, 0.044715, x), sqrt(2 / pi))
        bent = tanh(f, (inner,))
    else:
        bent = erf(f, (f.multiply(x, sqrt(0.5)),))
    half = f.multiply(x, 0.5)
    return f.fused(half, bent, half, into)


def silu(f: Floats, src: Sequence[Part], numbers: Numbers = (), into: Part | None = None) -> Part:
    """Of x: x sigmoid(a x), a = numbers[0] or 1; QuickGelu is a = 1.702."""
    slope = numbers[0] if numbers else 1.0
    made = exponential2(f, f.multiply(src[0], -LOG2_E * slope))
    return f.multiply(src[0], f.function(Function.RECIPROCAL, f.add(made, 1.0)), into)


def softplus(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """log(1 + e^x) as max(x, 0) + log(1 + e^-|x|), which does not overflow."""
    smaller = exponential2(f, f.multiply(f.absolute(src[0]), -LOG2_E))
    return f.add(logarithm(f, (f.add(smaller, 1.0),)), f.maximum(src[0], 0.0), into)


def mish(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """Of x: x tanh(softplus(x))."""
    return f.multiply(src[0], tanh(f, (softplus(f, src),)), into)


def relu(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """max(x, 0)."""
    return f.maximum(src[0], 0.0, into)


def leaky_relu(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None = None) -> Part:
    """x, or a x where x is negative."""
    return f.choose(f.below(src[0], 0.0), f.multiply(src[0], numbers[0]), src[0], into)


def parametric_relu(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """x, or x times src1 where x is negative."""
    return f.choose(f.below(src[0], 0.0), f.multiply(src[0], src[1]), src[0], into)


def elu(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None = None) -> Part:
    """Of x: s x, or a (e^(x/b) - 1) where x is negative; numbers are a, b, s."""
    alpha, breadth, slope = numbers
    made = exponential(f, (f.multiply(src[0], 1 / breadth) if breadth != 1 else src[0],))
    positive = f.multiply(src[0], slope) if slope != 1 else src[0]
    return f.choose(f.below(src[0], 0.0), f.fused(made, alpha, -alpha), positive, into)


def hard_sigmoid(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None = None) -> Part:
    """max(0, min(1, a x + b))."""
    return f.maximum(f.minimum(f.fused(src[0], numbers[0], numbers[1]), 1.0), 0.0, into)


def hard_swish(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """Of x: x max(0, min(1, x / 6 + 0.5))."""
    return f.multiply(src[0], hard_sigmoid(f, src, (1 / 6, 0.5)), into)


def softsign(f: Floats, src: Sequence[Part], _: Numbers = (), into: Part | None = None) -> Part:
    """Of x: x / (1 + |x|)."""
    return f.multiply(src[0], f.function(Function.RECIPROCAL, f.add(f.absolute(src[0]), 1.0)), into)

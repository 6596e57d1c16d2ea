"""The element functions that kernels know, by name: how many operands each takes and the arithmetic that it
becomes.

Truth values are 1 and 0. The names are our own; which operator of a graph becomes which functions is decided
where graphs are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwmodels.operations import Operation
from simulator.workload.builders import activations, special_functions
from simulator.workload.builders.floats import Floats, word
from simulator.workload.builders.special_functions import Numbers
from simulator.workload.ir import Effect, Part, Rounding

Emit = Callable[[Floats, Sequence[Part], Numbers, Part | None], Part]


@dataclass(frozen=True, slots=True)
class ElementFunction:
    """Operands, and what writes the instructions."""

    operands: int
    emit: Emit


def truth(f: Floats, flag: Part, into: Part | None) -> Part:
    """A predicate as 1 or 0."""
    return f.choose(flag, 1.0, 0.0, into)


def where(f: Floats, src: Sequence[Part], _: Numbers, into: Part | None) -> Part:
    """Src1 where src0 is true, else src2."""
    return f.choose(f.equals(src[0], 0.0), src[2], src[1], into)


def keep(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None) -> Part:
    """1 where a random number src0 in [0, 1) is at least the ratio, src1 or numbers[0]; else 0."""
    limit: Part | float = src[1] if len(src) > 1 else numbers[0]
    return f.choose(f.below(src[0], limit), 0.0, 1.0, into)


def dropped(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None) -> Part:
    """Src0 / (1 - ratio) where src1 is 1, else 0; the ratio is numbers[0] or src2."""
    if len(src) > 2:
        gain: Part | float = special_functions.reciprocal(f, (f.fused(src[2], -1.0, 1.0),))
    else:
        gain = 1 / (1 - numbers[0]) if numbers[0] < 1 else 0.0
    return f.multiply(f.multiply(src[0], gain), src[1], into)


def sign(f: Floats, src: Sequence[Part], _: Numbers, into: Part | None) -> Part:
    """-1, 0 or 1."""
    size = f.choose(f.equals(src[0], 0.0), 0.0, 1.0)
    return f.with_sign(size, src[0], into)


def quantised(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None) -> Part:
    """Round(src0 / src1) + src2, clamped to numbers; still a float."""
    scaled = f.rounded(special_functions.quotient(f, src[:2]), Rounding.NEAREST)
    moved = f.add(scaled, src[2]) if len(src) > 2 else scaled
    return f.minimum(f.maximum(moved, numbers[0]), numbers[1], into)


def restored(f: Floats, src: Sequence[Part], _: Numbers, into: Part | None) -> Part:
    """(src0 - src2) * src1."""
    moved = f.subtract(src[0], src[2]) if len(src) > 2 else src[0]
    return f.multiply(moved, src[1], into)


def clipped(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None) -> Part:
    """Between two numbers."""
    return f.minimum(f.maximum(src[0], numbers[0]), numbers[1], into)


def scaled_sum(f: Floats, src: Sequence[Part], numbers: Numbers, into: Part | None) -> Part:
    """Src0 * numbers[0] + numbers[1]."""
    if numbers[1] == 0:
        return f.multiply(src[0], numbers[0], into)
    if numbers[0] == 1:
        return f.add(src[0], numbers[1], into)
    return f.fused(src[0], numbers[0], numbers[1], into)


def one(f: Floats, into: Part | None) -> Part:
    """1."""
    if into is None:
        return f.constant(1.0)
    f.emitter.refill(into, word(1.0))
    return into


def copied(f: Floats, src: Sequence[Part], _: Numbers, into: Part | None) -> Part:
    """Src0; an instruction only where it has to stand somewhere else."""
    return src[0] if into is None else f.op(Operation.MOVE, Effect.COPY, (src[0],), (), into)


def unary(emit: Emit) -> ElementFunction:
    """A function of one operand."""
    return ElementFunction(1, emit)


def binary(emit: Emit) -> ElementFunction:
    """A function of two operands."""
    return ElementFunction(2, emit)


ELEMENT_FUNCTIONS: dict[str, ElementFunction] = {
    "identity": unary(copied),
    "negative": unary(lambda f, s, _, into: f.multiply(s[0], -1.0, into)),
    "absolute": unary(lambda f, s, _, into: f.absolute(s[0], into)),
    "exponential": unary(special_functions.exponential),
    "logarithm": unary(special_functions.logarithm),
    "root": unary(special_functions.root),
    "reciprocal root": unary(special_functions.reciprocal_root),
    "reciprocal": unary(special_functions.reciprocal),
    "sigmoid": unary(activations.sigmoid),
    "tanh": unary(activations.tanh),
    "erf": unary(activations.erf),
    "gelu": unary(activations.gelu),
    "silu": unary(activations.silu),
    "softplus": unary(activations.softplus),
    "mish": unary(activations.mish),
    "softsign": unary(activations.softsign),
    "relu": unary(activations.relu),
    "leaky relu": unary(activations.leaky_relu),
    "elu": unary(activations.elu),
    "hard sigmoid": unary(activations.hard_sigmoid),
    "hard swish": unary(activations.hard_swish),
    "sign": unary(sign),
    "floor": unary(lambda f, s, _, into: f.rounded(s[0], Rounding.DOWN, into)),
    "ceiling": unary(lambda f, s, _, into: f.rounded(s[0], Rounding.UP, into)),
    "round": unary(lambda f, s, _, into: f.rounded(s[0], Rounding.NEAREST, into)),
    "truncate": unary(lambda f, s, _, into: f.rounded(s[0], Rounding.ZERO, into)),
    "clip": unary(clipped),
    "scale": unary(scaled_sum),
    "not": unary(lambda f, s, _, into: truth(f, f.equals(s[0], 0.0), into)),
    "non-zero": unary(lambda f, s, _, into: f.choose(f.equals(s[0], 0.0), 0.0, 1.0, into)),
    "one": unary(lambda f, _, __, into: one(f, into)),
    "square": unary(lambda f, s, _, into: f.multiply(s[0], s[0], into)),
    "add": binary(lambda f, s, _, into: f.add(s[0], s[1], into)),
    "subtract": binary(lambda f, s, _, into: f.subtract(s[0], s[1], into)),
    "multiply": binary(lambda f, s, _, into: f.multiply(s[0], s[1], into)),
    "divide": binary(special_functions.quotient),
    "power": binary(special_functions.power),
    "maximum": binary(lambda f, s, _, into: f.maximum(s[0], s[1], into)),
    "minimum": binary(lambda f, s, _, into: f.minimum(s[0], s[1], into)),
    "parametric relu": binary(activations.parametric_relu),
    "equal": binary(lambda f, s, _, into: truth(f, f.equals(s[0], s[1]), into)),
    "less": binary(lambda f, s, _, into: truth(f, f.below(s[0], s[1]), into)),
    "greater": binary(lambda f, s, _, into: truth(f, f.below(s[1], s[0]), into)),
    "not less": binary(lambda f, s, _, into: f.choose(f.below(s[0], s[1]), 0.0, 1.0, into)),
    "not greater": binary(lambda f, s, _, into: f.choose(f.below(s[1], s[0]), 0.0, 1.0, into)),
    "affine": ElementFunction(3, lambda f, s, _, into: f.fused(s[0], s[1], s[2], into)),
    "where": ElementFunction(3, where),
    "keep": binary(keep),
    "dropped": ElementFunction(3, dropped),
    "quantised": ElementFunction(3, quantised),
    "restored": ElementFunction(3, restored),
}

"""Single-precision arithmetic of a kernel program, an instruction a method: sums, products, comparisons,
selections, special functions.

Sign changes and absolute values of operands are free on the hardware's adders and multipliers; here they cost
an instruction of their own only where no fused form has them.
"""

from collections.abc import Sequence

import numpy as np

from hwmodels.operations import Operation
from simulator.workload.emit import Emitter, Flag
from simulator.workload.ir import Effect, Function, Part, Rounding


def word(value: float) -> int:
    """The 32 bits of a single-precision number."""
    return int(np.float32(value).view(np.uint32))


class Floats:
    """Writes float arithmetic; `sources` names the tensor that a register holds until it is first read."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.sources: dict[Part, int] = {}

    def op(
        self,
        operation: Operation,
        effect: Effect,
        src: Sequence[Part],
        numbers: tuple[int | float, ...] = (),
        into: Part | None = None,
        only: Part | None = None,
        predicate: bool = False,
    ) -> Part:
        """One instruction; `only` is a predicate that switches lanes."""
        made = into if into is not None else self.emitter.fresh(1, "value", predicate=predicate)
        tensors = tuple(self.sources.pop(part, -1) for part in src)
        self.emitter.op(
            operation,
            effect,
            (made,),
            tuple(src),
            numbers,
            Flag(only, ()) if only is not None else None,
            src_tensors=tensors if any(tensor >= 0 for tensor in tensors) else (),
        )
        return made

    def constant(self, value: float) -> Part:
        """A register that holds a number."""
        return self.emitter.constant(word(value), "constant")

    def add(self, a: Part, b: Part | float, into: Part | None = None) -> Part:
        """A + b."""
        if isinstance(b, Part):
            return self.op(Operation.FADD, Effect.FLOAT_ADD, (a, b), into=into)
        return self.op(Operation.FADD, Effect.FLOAT_OFFSET, (a,), (b,), into)

    def subtract(self, a: Part, b: Part, into: Part | None = None) -> Part:
        """A - b."""
        return self.op(Operation.FADD, Effect.FLOAT_SUBTRACT, (a, b), into=into)

    def multiply(
        self, a: Part, b: Part | float, into: Part | None = None, *, only: Part | None = None
    ) -> Part:
        """A * b."""
        if isinstance(b, Part):
            return self.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (a, b), (), into, only)
        return self.op(Operation.FMUL, Effect.FLOAT_SCALE, (a,), (b,), into, only)

    def fused(
        self, a: Part, b: Part | float, c: Part | float, into: Part | None = None, *, only: Part | None = None
    ) -> Part:
        """A * b + c, where at most one of b and c is a number."""
        if isinstance(b, Part):
            if isinstance(c, Part):
                return self.op(Operation.FFMA, Effect.FLOAT_FUSED, (a, b, c), (), into, only)
            return self.op(Operation.FFMA, Effect.FLOAT_FUSED_CONSTANT, (a, b), (c,), into, only)
        addend = c if isinstance(c, Part) else self.constant(c)
        return self.op(Operation.FFMA, Effect.FLOAT_SCALE, (a, addend), (b,), into, only)

    def fused_negated(
        self, a: Part, b: Part, c: Part, into: Part | None = None, *, only: Part | None = None
    ) -> Part:
        """C - a * b."""
        return self.op(Operation.FFMA, Effect.FLOAT_FUSED_NEGATED, (a, b, c), (), into, only)

    def maximum(self, a: Part, b: Part | float, into: Part | None = None) -> Part:
        """The greater."""
        if isinstance(b, Part):
            return self.op(Operation.ALU, Effect.FLOAT_MAXIMUM, (a, b), into=into)
        return self.op(Operation.ALU, Effect.FLOAT_MAXIMUM, (a,), (b,), into)

    def minimum(self, a: Part, b: Part | float, into: Part | None = None) -> Part:
        """The lesser."""
        if isinstance(b, Part):
            return self.op(Operation.ALU, Effect.FLOAT_MINIMUM, (a, b), into=into)
        return self.op(Operation.ALU, Effect.FLOAT_MINIMUM, (a,), (b,), into)

    def absolute(self, a: Part, into: Part | None = None) -> Part:
        """|a|."""
        return self.op(Operation.FADD, Effect.FLOAT_ABSOLUTE, (a,), into=into)

    def with_sign(self, size: Part, sign: Part, into: Part | None = None) -> Part:
        """The size of one with the sign of another."""
        return self.op(Operation.ALU, Effect.FLOAT_COPY_SIGN, (size, sign), into=into)

    def rounded(self, a: Part, way: Rounding, into: Part | None = None) -> Part:
        """A whole number near a."""
        return self.op(Operation.CONVERT, Effect.FLOAT_ROUND, (a,), (int(way),), into)

    def function(self, which: Function, a: Part, into: Part | None = None) -> Part:
        """The special function unit, with its disregard of subnormal numbers."""
        return self.op(Operation.MUFU, Effect.FUNCTION, (a,), (int(which),), into)

    def below(self, a: Part, b: Part | float) -> Part:
        """The predicate a < b."""
        if isinstance(b, Part):
            return self.op(Operation.PREDICATE, Effect.FLOAT_BELOW, (a, b), predicate=True)
        return self.op(Operation.PREDICATE, Effect.FLOAT_BELOW, (a,), (b,), predicate=True)

    def equals(self, a: Part, b: Part | float) -> Part:
        """The predicate a == b."""
        if isinstance(b, Part):
            return self.op(Operation.PREDICATE, Effect.FLOAT_EQUALS, (a, b), predicate=True)
        return self.op(Operation.PREDICATE, Effect.FLOAT_EQUALS, (a,), (b,), predicate=True)

    def ordinary(self, divisor: Part, dividend: Part | None = None) -> Part:
        """The predicate that a quotient is far from overflow and underflow."""
        src = (divisor,) if dividend is None else (divisor, dividend)
        return self.op(Operation.PREDICATE, Effect.FLOAT_ORDINARY, src, predicate=True)

    def choose(self, flag: Part, yes: Part | float, no: Part | float, into: Part | None = None) -> Part:
        """One of two values or numbers by a predicate."""
        if not isinstance(yes, Part) and not isinstance(no, Part):
            return self.op(Operation.ALU, Effect.SELECT, (flag,), (word(yes), word(no)), into)
        first = yes if isinstance(yes, Part) else self.constant(yes)
        other = no if isinstance(no, Part) else self.constant(no)
        return self.op(Operation.ALU, Effect.SELECT, (flag, first, other), (), into)

    def polynomial(self, x: Part, coefficients: Sequence[float], into: Part | None = None) -> Part:
        """A polynomial, lowest power first, by Horner's rule."""
        value = self.constant(coefficients[-1])
        for power in range(len(coefficients) - 2, -1, -1):
            value = self.fused(value, x, coefficients[power], None if power else into)
        return value

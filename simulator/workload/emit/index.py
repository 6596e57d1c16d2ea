"""Index arithmetic, spelled out as the hardware has it: multiply-add, shifts, and division by a constant
through the upper half of a product.

Nothing is folded away behind the reader's back, so instruction counts are honest. Each result carries its
closed form beside its register.
"""

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.expression import Variable
from simulator.trace.schema import Guard
from simulator.workload.affine import variable
from simulator.workload.emit.operands import Flag, Pointer, Scalar
from simulator.workload.emit.writer import Writer
from simulator.workload.ir import Effect, Part, Special

INDEX_LIMIT = 1 << 31


class IndexWriter(Writer):
    """A writer that knows integer arithmetic."""

    def special(self, which: Special) -> Scalar:
        """Read a special register."""
        x, y, z = self.grid
        index = {
            Special.THREAD: variable(Variable.WARP, -(-self.threads // 32)) * 32
            + variable(Variable.LANE, 32),
            Special.BLOCK_X: variable(Variable.BLOCK_X, x),
            Special.BLOCK_Y: variable(Variable.BLOCK_Y, y),
            Special.BLOCK_Z: variable(Variable.BLOCK_Z, z),
        }[which]
        part = self.fresh(1, which.name.lower())
        self.op(Operation.S2R, Effect.SPECIAL, (part,), (), (int(which),))
        return Scalar(part, index)

    def add(self, left: Scalar, right: Scalar | int, name: str = "") -> Scalar:
        """Left + right, one instruction."""
        part = self.fresh(1, name)
        if isinstance(right, int):
            self.op(Operation.ALU, Effect.ADD, (part,), (left.part,), (right,))
            return Scalar(part, left.index + right)
        self.op(Operation.ALU, Effect.ADD, (part,), (left.part, right.part), (0,))
        return Scalar(part, left.index + right.index)

    def multiply_add(self, left: Scalar, factor: int, addend: Scalar | int = 0, name: str = "") -> Scalar:
        """Left * factor + addend, one instruction."""
        part = self.fresh(1, name)
        if isinstance(addend, int):
            self.op(Operation.IMAD, Effect.MULTIPLY_ADD, (part,), (left.part,), (factor, addend))
            return Scalar(part, left.index * factor + addend)
        self.op(Operation.IMAD, Effect.MULTIPLY_ADD, (part,), (left.part, addend.part), (factor, 0))
        return Scalar(part, left.index * factor + addend.index)

    def divide(self, value: Scalar, divisor: int, name: str = "") -> Scalar:
        """The quotient of a value below 2^31: a shift, or the upper half of a product and a shift."""
        low, high = value.index.bounds()
        if low < 0 or high >= INDEX_LIMIT:
            raise InputError("kernel", f"index range {low} … {high} does not divide", "use a smaller batch")
        if divisor == 1:
            return value
        part = self.fresh(1, name)
        shift = (divisor - 1).bit_length()
        if divisor == 1 << shift:
            self.op(Operation.ALU, Effect.SHIFT_RIGHT, (part,), (value.part,), (shift,))
        else:
            magic = -(-(1 << (31 + shift)) // divisor)
            upper = self.fresh(1, "upper") if shift > 1 else part
            self.op(Operation.IMAD, Effect.MULTIPLY_HIGH, (upper,), (value.part,), (magic,))
            if shift > 1:
                self.op(Operation.ALU, Effect.SHIFT_RIGHT, (part,), (upper,), (shift - 1,))
        return Scalar(part, value.index // divisor)

    def remainder(
        self, value: Scalar, divisor: int, quotient: Scalar | None = None, name: str = ""
    ) -> Scalar:
        """Value % divisor; from the quotient where that is at hand."""
        if divisor & (divisor - 1) == 0:
            part = self.fresh(1, name)
            self.op(Operation.ALU, Effect.AND, (part,), (value.part,), (divisor - 1,))
            return Scalar(part, value.index % divisor)
        whole = quotient if quotient is not None else self.divide(value, divisor)
        return Scalar(self.multiply_add(whole, -divisor, value, name).part, value.index % divisor)

    def increase(self, value: Part, by: Part | int) -> None:
        """In place: value += by."""
        if isinstance(by, int):
            self.op(Operation.ALU, Effect.ADD, (value,), (value,), (by,))
        else:
            self.op(Operation.ALU, Effect.ADD, (value,), (value, by), (0,))

    def select(self, flag: Part, yes: int, no: int, name: str = "") -> Part:
        """One of two constants by a predicate."""
        part = self.fresh(1, name)
        self.op(Operation.ALU, Effect.SELECT, (part,), (flag,), (yes, no))
        return part

    def pointer(self, base: int, value: Scalar, scale: int, name: str = "") -> Pointer:
        """Base + scale * value as a 64-bit address, one wide multiply-add."""
        part = self.fresh(2, name)
        self.op(Operation.IMAD, Effect.WIDE, (part,), (value.part,), (scale, base))
        return Pointer(part, value.index * scale + base)

    def within(self, value: Scalar, limit: int, also: Flag | None = None) -> Flag:
        """0 <= value < limit (and `also`): one unsigned comparison."""
        part = self.fresh(1, "flag", predicate=True)
        src = (value.part,) if also is None else (value.part, also.part)
        self.op(Operation.PREDICATE, Effect.IN_RANGE, (part,), src, (limit,))
        before = () if also is None else also.guards
        return Flag(part, (*before, Guard(value.index.expression(), 0, limit)))

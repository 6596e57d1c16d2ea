"""The online softmax of attention on accumulators in registers: a running maximum and sum for each of a
lane's two rows, and the factor by which older outputs shrink when the maximum grows.

Exponentials are of base 2 on the special function unit, with the scale and the change of base in one
multiply-add, as attention kernels do. Sums stay apart by lane until the end.
"""

from math import e, log2

from hwmodels.operations import Operation
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Function, Part

FAR_BELOW_WORD = 0xF149F2CA  # -1e30 in single precision: no exponential, but a number
NEIGHBOURS = (1, 2)  # lanes of a row: 4 neighbours


class OnlineSoftmax:
    """State of a lane's two rows."""

    def __init__(self, emitter: Emitter, scale: float, tensor: int) -> None:
        self.emitter = emitter
        self.factor = scale * log2(e)
        self.tensor = tensor
        self.greatest = [emitter.constant(FAR_BELOW_WORD, "running maximum") for _ in range(2)]
        self.sums = [emitter.constant(0, "running sum") for _ in range(2)]

    def mask(self, scores: list[Part], key: Scalar, keys: int) -> None:
        """Push scores of keys that do not exist far below all others."""
        emitter = self.emitter
        low = emitter.constant(FAR_BELOW_WORD, "far below")
        for group, quad in enumerate(scores):
            for odd in range(2):
                step = 8 * group + odd
                flag = emitter.within(emitter.add(key, step) if step else key, keys)
                for cell in (quad[odd], quad[2 + odd]):
                    emitter.op(Operation.ALU, Effect.SELECT, (cell,), (flag.part, cell, low))

    def update(self, scores: list[Part], outputs: list[Part]) -> None:
        """Turn scores into weights, in place, and shrink sums and outputs to the new maximum."""
        for row in range(2):
            self.update_row(row, [quad.cut(2 * row, 2) for quad in scores], outputs)

    def update_row(self, row: int, scores: list[Part], outputs: list[Part]) -> None:
        """One of the lane's two rows; the sign of the scale decides nothing, as it is positive."""
        emitter = self.emitter
        old, total = self.greatest[row], self.sums[row]
        best = emitter.fresh(1, "maximum")
        emitter.op(Operation.MOVE, Effect.COPY, (best,), (old,))
        for pair in scores:
            for word in range(2):
                self.maximum(best, pair[word])
        for distance in NEIGHBOURS:
            self.maximum(best, emitter.shuffle_xor(best, distance))
        shift = emitter.fresh(1, "shift")
        emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (shift,), (best,), (-self.factor,))
        shrink = emitter.fresh(1, "shrink")
        self.exponential(shrink, old, shift)
        emitter.op(Operation.MOVE, Effect.COPY, (old,), (best,))
        emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (total,), (total, shrink))
        for pair in scores:
            for word in range(2):
                self.exponential(pair[word], pair[word], shift)
                emitter.op(
                    Operation.FADD, Effect.FLOAT_ADD, (total,), (total, pair[word]), dst_tensor=self.tensor
                )
        for quad in outputs:
            for word in range(2):
                cell = quad[2 * row + word]
                emitter.op(
                    Operation.FMUL, Effect.FLOAT_MULTIPLY, (cell,), (cell, shrink), dst_tensor=self.tensor
                )

    def finish(self, outputs: list[Part]) -> None:
        """Divide outputs by the sums of whole rows."""
        emitter = self.emitter
        for row, total in enumerate(self.sums):
            for distance in NEIGHBOURS:
                other = emitter.shuffle_xor(total, distance)
                emitter.op(Operation.FADD, Effect.FLOAT_ADD, (total,), (total, other))
            inverse = emitter.fresh(1, "inverse")
            emitter.op(Operation.MUFU, Effect.FUNCTION, (inverse,), (total,), (int(Function.RECIPROCAL),))
            for quad in outputs:
                for word in range(2):
                    cell = quad[2 * row + word]
                    emitter.op(
                        Operation.FMUL,
                        Effect.FLOAT_MULTIPLY,
                        (cell,),
                        (cell, inverse),
                        dst_tensor=self.tensor,
                    )

    def maximum(self, best: Part, other: Part) -> None:
        """Best = the greater of both."""
        self.emitter.op(Operation.ALU, Effect.FLOAT_MAXIMUM, (best,), (best, other))

    def exponential(self, result: Part, value: Part, shift: Part) -> None:
        """2 to the (factor * value + shift)."""
        emitter = self.emitter
        power = emitter.fresh(1, "power")
        emitter.op(Operation.FFMA, Effect.FLOAT_SCALE, (power,), (value, shift), (self.factor,))
        emitter.op(Operation.MUFU, Effect.FUNCTION, (result,), (power,), (int(Function.EXPONENTIAL),))

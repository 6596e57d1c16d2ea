"""Bilinear resampling in channels-last memory: a thread makes one vector of channels of one output pixel from
four input pixels.

The source coordinate is a whole fraction, (step * output + shift) / divisor, so rows and columns come from
integer division and the weights from its remainder; an input outside the image has no part and its partner
takes the whole weight, which is the usual clamping. Other modes of interpolation are not built here.
"""

from dataclasses import dataclass

from hwmodels.errors import unknown
from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.digits import combined
from simulator.workload.builders.pixels import Pixels, PixelThread
from simulator.workload.emit import Scalar
from simulator.workload.ir import Effect, Kernel, Part

MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
ONE = 0x3F800000


@dataclass(frozen=True, slots=True)
class Line:
    """Source coordinate along one axis: (step * output + shift) / divisor."""

    step: int
    shift: int
    divisor: int

    @classmethod
    def of(cls, mode: str, extent: int, outputs: int) -> "Line":
        """The coordinate rule of ONNX's Resize for an axis of `extent` inputs."""
        if mode not in MODES:
            raise unknown("Resize", "coordinate_transformation_mode", mode, MODES)
        if mode == "asymmetric":
            return cls(extent, 0, outputs)
        if outputs == 1 and mode != "half_pixel":
            return cls(0, 0, 1)
        if mode == "align_corners":
            return cls(extent - 1, 0, outputs - 1)
        return cls(2 * extent, extent - outputs, 2 * outputs)

    @property
    def whole(self) -> bool:
        """Whether outputs per input are a whole number, so that the quotient is (output + n) // divisor."""
        return self.step > 0 and self.divisor % self.step == 0

    @property
    def ahead(self) -> int:
        """Added before the division and taken off after it, so that no dividend is negative."""
        return -(-max(0, -self.shift) // self.divisor)


class Axis:
    """One axis of one thread: first of its two inputs, predicates and weights of both."""

    def __init__(self, thread: PixelThread, digit: Scalar, line: Line, extent: int) -> None:
        emitter = thread.emitter
        ahead, divisor = line.ahead, line.divisor
        if line.whole:
            # (step * x + shift) // divisor is (x + shift // step) // (divisor / step), a closed form.
            factor = divisor // line.step
            moved = emitter.add(digit, line.shift // line.step + ahead * factor, "moved")
            quotient = emitter.divide(moved, factor, "quotient")
        else:
            number = emitter.multiply_add(digit, line.step, line.shift + ahead * divisor, "fraction")
            quotient = emitter.divide(number, divisor, "quotient")
        self.first = emitter.add(quotient, -ahead, "first") if ahead else quotient
        back = emitter.multiply_add(digit, line.step, line.shift, "fraction")
        remainder = emitter.multiply_add(self.first, -divisor, back, "remainder")
        self.flags = tuple(
            emitter.within(emitter.add(self.first, 1) if second else self.first, extent, thread.inside)
            for second in (False, True)
        )
        part = emitter.fresh(1, "weight")
        emitter.op(Operation.CONVERT, Effect.TO_FLOAT, (part,), (remainder.part,), (-1, 1))
        emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (part,), (part,), (1.0 / line.divisor,))
        rest = emitter.fresh(1, "weight")
        emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (rest,), (part,), (-1.0,))
        emitter.op(Operation.FADD, Effect.FLOAT_OFFSET, (rest,), (rest,), (1.0,))
        one = emitter.constant(ONE, "one")
        self.weights: list[Part] = []
        for weight, other in ((rest, self.flags[1]), (part, self.flags[0])):
            chosen = emitter.fresh(1, "weight")
            emitter.op(Operation.ALU, Effect.SELECT, (chosen,), (other.part, weight, one))
            self.weights.append(chosen)


def bilinear_kernel(
    name: str,
    operator: str,
    image: Pixels,
    result: Pixels,
    mode: str,
    source: TensorInfo,
    target: TensorInfo,
    stages: tuple[Stage, ...] = (),
) -> Kernel:
    """The program of a bilinear resampling."""
    lines = (Line.of(mode, image.height, result.height), Line.of(mode, image.width, result.width))
    thread = PixelThread(name, operator, result, rows_by_block="vectors" if lines[1].whole else "warps")
    emitter = thread.emitter
    with emitter.working_for(operator):
        tensor = emitter.tensor(source)
        extents = (image.height, image.width)
        axes = [Axis(thread, thread.digits[1 + axis], lines[axis], extents[axis]) for axis in range(2)]
        place = [thread.digits[0], axes[0].first, axes[1].first, thread.digits[3]]
        element = combined(emitter, place, image.strides, name="corner element")
        pointer = emitter.pointer(source.base_address, element, image.item_bytes, f"{source.name} address")
        totals = thread.accumulators(0)
        corners = []
        for corner in range(4):
            down, right = corner // 2, corner % 2
            column = emitter.add(axes[1].first, 1) if right else axes[1].first
            flag = emitter.within(column, image.width, axes[0].flags[down])
            at = (down * image.strides[1] + right * image.strides[2]) * image.item_bytes
            vector = emitter.load(pointer, image.words, at, flag, tensor, name=source.name)
            weight = emitter.fresh(1, "corner weight")
            pair = (axes[0].weights[down], axes[1].weights[right])
            emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (weight,), pair)
            corners.append((vector, weight, flag))
        for vector, weight, flag in corners:
            for total, value in zip(totals, thread.wide(vector, tensor), strict=True):
                sources = (-1 if thread.halves else tensor, -1, -1)
                emitter.op(
                    Operation.FFMA,
                    Effect.FLOAT_FUSED,
                    (total,),
                    (value, weight, total),
                    (),
                    flag,
                    src_tensors=sources,
                )
        thread.store(totals, target, stages)
    return emitter.finish()

"""Local response normalisation across channels in channels-last memory: a thread makes one vector of channels
and reads the few channels beside it.

y = x * (bias + alpha / size * sum of squares)^(-beta), the power by the special function unit's logarithm and
exponential to base 2, as fast-math kernels have it. Windows wider than a vector on one side and padded
channels are refused.
"""

from dataclasses import dataclass

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.pixels import Pixels, PixelThread
from simulator.workload.ir import Effect, Function, Kernel, Part


@dataclass(frozen=True, slots=True)
class Response:
    """The parameters as ONNX has them."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    @property
    def before(self) -> int:
        """Channels of the window below the middle one."""
        return (self.size - 1) // 2

    @property
    def after(self) -> int:
        """Channels of the window above the middle one."""
        return self.size - 1 - self.before


def response_kernel(
    name: str,
    operator: str,
    response: Response,
    image: Pixels,
    source: TensorInfo,
    result: TensorInfo,
    stages: tuple[Stage, ...] = (),
) -> Kernel:
    """The program of a local response normalisation."""
    lanes = image.lanes
    if not response.size >= 1 or response.after > lanes:
        raise InputError(name, f"window of {response.size} channels", f"give 1 to {2 * lanes + 1}")
    thread = PixelThread(name, operator, image)
    emitter = thread.emitter
    with emitter.working_for(operator):
        tensor = emitter.tensor(source)
        pointer = emitter.pointer(
            source.base_address, thread.index, 4 * image.words, f"{source.name} address"
        )
        middle = emitter.load(pointer, image.words, 0, thread.inside, tensor, name=source.name)
        sides: list[tuple[Part | None, int]] = []
        for wanted, neighbour, words_off in ((response.before, -1, 0), (response.after, 1, image.words)):
            words = words_for(wanted, image.item_bytes)
            if not wanted or image.extents[3] == 1:
                sides.append((None, wanted))
                continue
            chunk = emitter.add(thread.digits[3], neighbour, "neighbour")
            flag = emitter.within(chunk, image.extents[3], thread.inside)
            part = emitter.constant(0, "beside", words)
            at = 4 * (words_off if neighbour > 0 else -words)
            emitter.load(pointer, words, at, flag, tensor, into=part)
            sides.append((part, wanted))
        values = list(thread.wide(middle, tensor))
        squares = [square(thread, value) for value in values]
        (low, below), (high, above) = sides
        lower = [] if low is None else list(thread.wide(low, tensor))[-below:]
        upper = [] if high is None else list(thread.wide(high, tensor))[:above]
        edges = [[square(thread, value) for value in side] for side in (lower, upper)]
        line = edges[0] + squares + edges[1]
        results = []
        for channel in range(lanes):
            here = len(edges[0]) + channel
            window = line[max(0, here - response.before) : here + response.after + 1]
            results.append(normalised(thread, response, values[channel], window))
        if not thread.halves:
            vector = emitter.fresh(image.words, "normalised")
            for word, value in enumerate(results):
                emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (vector[word],), (values[word], value))
            results = [vector[word] for word in range(image.words)]
        thread.store(results, result, stages)
    return emitter.finish()


def words_for(channels: int, item_bytes: int) -> int:
    """Registers of the smallest aligned access that holds some channels."""
    needed = -(-channels * item_bytes // 4)
    return 4 if needed > 2 else max(1, needed)


def square(thread: PixelThread, value: Part) -> Part:
    """Value * value."""
    part = thread.emitter.fresh(1, "square")
    thread.emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (part,), (value, value))
    return part


def normalised(thread: PixelThread, response: Response, value: Part, window: list[Part]) -> Part:
    """The factor of one channel, multiplied by it where that leaves no vector to fill."""
    emitter = thread.emitter
    total = emitter.fresh(1, "total")
    emitter.op(Operation.MOVE, Effect.COPY, (total,), (window[0],))
    for other in window[1:]:
        emitter.op(Operation.FADD, Effect.FLOAT_ADD, (total,), (total, other))
    share = response.alpha / response.size
    emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (total,), (total,), (share,))
    emitter.op(Operation.FADD, Effect.FLOAT_OFFSET, (total,), (total,), (response.bias,))
    emitter.op(Operation.MUFU, Effect.FUNCTION, (total,), (total,), (int(Function.LOGARITHM),))
    emitter.op(Operation.FMUL, Effect.FLOAT_SCALE, (total,), (total,), (-response.beta,))
    emitter.op(Operation.MUFU, Effect.FUNCTION, (total,), (total,), (int(Function.EXPONENTIAL),))
    if thread.halves:
        emitter.op(Operation.FMUL, Effect.FLOAT_MULTIPLY, (total,), (total, value))
    return total

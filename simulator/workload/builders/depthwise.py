"""Depthwise convolution: a thread makes one vector of neighbouring channels of one output pixel and reads the
taps of its window straight from memory, since no two channels share a product.

Sums are in single precision; halves are widened at each tap. Filters lie tap by tap, R S K. Neighbouring
threads read overlapping windows, which the first-level cache serves; staging a patch in shared memory is not
built.
"""

from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage, channel_parameters, load_others, other_pointers
from simulator.workload.builders.chain_arithmetic import apply
from simulator.workload.builders.geometry import Convolution
from simulator.workload.builders.pixels import Pixels, PixelThread
from simulator.workload.emit import Flag, Scalar
from simulator.workload.ir import Effect, Kernel, Part


def depthwise_kernel(
    name: str,
    operator: str,
    shape: Convolution,
    pixels: TensorInfo,
    filters: TensorInfo,
    result: TensorInfo,
    stages: tuple[Stage, ...],
) -> Kernel:
    """The program of one depthwise convolution with its chain; `result` is what the sum alone gives."""
    out = Pixels(shape.batch, shape.out_height, shape.out_width, shape.stored_filters, shape.element_bytes)
    thread = PixelThread(name, operator, out)
    emitter = thread.emitter
    last = stages[-1].result if stages else result
    with emitter.working_for(operator):
        sums = thread.accumulators(0)
        Taps(thread, shape, pixels, filters, emitter.tensor(result)).add(sums)
        vector = joined(thread, sums, emitter.tensor(result))
        element = emitter.multiply_add(thread.index, out.lanes, name="element")
    channel = emitter.multiply_add(thread.digits[3], out.lanes, name="channel")
    parameters = channel_parameters(emitter, stages, channel, out.channels, out.lanes, thread.inside)
    pointers = other_pointers(emitter, stages, element, out.item_bytes)
    others = load_others(emitter, stages, pointers, out.words, 0, thread.inside)
    if stages:
        apply(emitter, stages, vector, thread.halves, parameters, others)
    with emitter.working_for(stages[-1].operator if stages else operator):
        pointer = emitter.pointer(last.base_address, element, out.item_bytes, f"{last.name} address")
        emitter.store(pointer, vector, 0, thread.inside, emitter.tensor(last))
    return emitter.finish()


def joined(thread: PixelThread, sums: list[Part], tensor: int) -> Part:
    """The sums as one vector, rounded where elements are halves."""
    if not thread.halves:
        return Part(sums[0].virtual, 0, len(sums))
    packed = thread.emitter.fresh(thread.result.words, "rounded")
    for word in range(packed.words):
        pair = (sums[2 * word], sums[2 * word + 1])
        thread.emitter.op(Operation.CONVERT, Effect.PACK, (packed[word],), pair, dst_tensor=tensor)
    return packed


class Taps:
    """Loads and products of a thread's window, a row of taps at a time."""

    def __init__(
        self, thread: PixelThread, shape: Convolution, pixels: TensorInfo, filters: TensorInfo, result: int
    ) -> None:
        emitter = thread.emitter
        self.thread, self.shape, self.emitter = thread, shape, emitter
        self.tensors = (emitter.tensor(pixels), emitter.tensor(filters), result)
        image, row, column, chunk = thread.digits
        lanes = thread.result.lanes
        channels = emitter.multiply_add(chunk, lanes, name="channel")
        self.top = emitter.multiply_add(row, shape.strides[0], -shape.pads[0], "top")
        self.left = emitter.multiply_add(column, shape.strides[1], -shape.pads[1], "left")
        first = emitter.multiply_add(image, shape.height, self.top)
        offset = emitter.multiply_add(self.left, shape.stored_channels, channels)
        offset = emitter.multiply_add(first, shape.row_elements, offset, "window offset")
        self.pixels = emitter.pointer(pixels.base_address, offset, shape.element_bytes, "window address")
        self.filters = emitter.pointer(filters.base_address, channels, shape.element_bytes, "filter address")

    def add(self, sums: list[Part]) -> None:
        """Every tap of the window into the sums."""
        for row in range(self.shape.window[0]):
            self.add_row(row, sums)

    def add_row(self, row: int, sums: list[Part]) -> None:
        """One row of taps: all its loads before its arithmetic."""
        shape, thread, emitter = self.shape, self.thread, self.emitter
        flag = thread.inside
        if shape.guards_height:
            flag = emitter.within(self.moved(self.top, row * shape.row_dilation), shape.height, flag)
        loaded = []
        for column in range(shape.window[1]):
            here: Flag | None = flag
            if shape.guards_width:
                there = self.moved(self.left, column * shape.column_dilation)
                here = emitter.within(there, shape.width, flag)
            step = row * shape.row_dilation * shape.row_elements
            step += column * shape.column_dilation * shape.stored_channels
            taken = emitter.fresh(thread.result.words, "pixels")
            if here is not thread.inside:
                emitter.refill(taken, 0)
            words, size = taken.words, shape.element_bytes
            emitter.load(self.pixels, words, step * size, here, self.tensors[0], into=taken)
            tap = (row * shape.window[1] + column) * shape.stored_filters * size
            weight = emitter.load(
                self.filters, words, tap, thread.inside, self.tensors[1], name="filter taps"
            )
            loaded.append((taken, weight))
        for taken, weight in loaded:
            wide = zip(
                sums, thread.wide(taken, self.tensors[0]), thread.wide(weight, self.tensors[1]), strict=True
            )
            for total, left, right in wide:
                emitter.op(
                    Operation.FFMA,
                    Effect.FLOAT_FUSED,
                    (total,),
                    (left, right, total),
                    dst_tensor=self.tensors[2],
                )

    def moved(self, place: Scalar, by: int) -> Scalar:
        """A coordinate some taps on."""
        return self.emitter.add(place, by) if by else place

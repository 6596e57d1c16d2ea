"""A histogram: each block counts into bins of its own in shared memory by atomic additions, and adds its bins
to the result in global memory at the end.

Which bin an element falls into is a value in memory, which a trace does not hold; the kernel states the
pattern that its elements follow, element i lies in bin ((step * i + start) // run) % bins, so that contention
within a warp is known: `run` neighbours share a bin. The result must be zero before, as a memset leaves it.
"""

from dataclasses import dataclass

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.affine import Index
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Special

THREADS = 256
ELEMENTS = 4


@dataclass(frozen=True, slots=True)
class Bins:
    """Element i lies in bin ((step * i + start) // run) % bins."""

    bins: int
    step: int = 1
    start: int = 0
    run: int = 1

    def of(self, element: Index) -> Index:
        """The bin of an element."""
        return (element * self.step + self.start) // self.run % self.bins

    def values(self, count: int) -> list[int]:
        """The bins of the first elements."""
        return [(self.step * element + self.start) // self.run % self.bins for element in range(count)]

    def __str__(self) -> str:
        return f"element i lies in bin (({self.step} * i + {self.start}) // {self.run}) % {self.bins}"


def histogram_kernel(
    name: str, operator: str, elements: int, bins: Bins, source: TensorInfo, result: TensorInfo
) -> Kernel:
    """The program of a histogram of 32-bit bin numbers, counted in 32 bits."""
    if not 1 <= bins.bins <= 12_288:
        raise InputError(name, f"{bins.bins} bins", "give 1 to 12288, which fit in 48 KiB")
    width = THREADS * ELEMENTS
    emitter = Emitter(name, (-(-elements // width), 1, 1), THREADS)
    with emitter.working_for(operator):
        read, made = emitter.tensor(source), emitter.tensor(result)
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        place = emitter.multiply_add(thread, 4, name="bin place")
        zero = emitter.constant(0, "zero")
        for first in range(0, bins.bins, THREADS):
            emitter.store(place, zero, 4 * first, last_flag(emitter, thread, bins.bins, first))
        emitter.barrier()
        element = emitter.multiply_add(block, width, thread, "element")
        pointer = emitter.pointer(source.base_address, element, 4, f"{source.name} address")
        loaded = []
        for number in range(ELEMENTS):
            here = emitter.add(element, number * THREADS, "element") if number else element
            flag = emitter.within(here, elements) if elements % width else None
            value = emitter.load(pointer, 1, 4 * number * THREADS, flag, read, name=source.name)
            loaded.append((Scalar(value, bins.of(here.index)), flag))
        one = emitter.constant(1, "one")
        for number_of_bin, flag in loaded:
            emitter.count(emitter.multiply_add(number_of_bin, 4, name="bin address"), one, flag=flag)
        emitter.barrier()
        out = emitter.pointer(result.base_address, thread, 4, f"{result.name} address")
        for first in range(0, bins.bins, THREADS):
            flag = last_flag(emitter, thread, bins.bins, first)
            total = emitter.load(place, 1, 4 * first, flag, name="total")
            emitter.count(out, total, 4 * first, flag, made)
    return emitter.finish(4 * bins.bins, (("elements", str(bins)),))


def last_flag(emitter: Emitter, thread: Scalar, bins: int, first: int) -> Flag | None:
    """Whether a thread has a bin in this round."""
    return None if bins - first >= THREADS else emitter.within(thread, bins - first)

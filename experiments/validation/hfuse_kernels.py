"""The five kernels of the HFuse artifact as traces, alone and two in one launch.

Shapes are those of the public drivers; programs are ours, after what the kernels compute and how their
threads walk (grid-stride loops, one row of a plane after the other). Divisions of indices are charged as the
instructions that a compiler makes of them: some 20 for 32 bits, some 70 for 64. A body that is held to fewer
registers than it needs keeps the rest in local memory: written once for each element, read in each turn of
its innermost loop. What one turn of im2col's window costs in 64-bit indices (two sums, four comparisons,
three products for the address, the step of the result) is counted from its source in the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.validation.machine import kernel_seconds
from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import Expression, block, lane, thread, warp
from simulator.trace.kernels.common import repeat
from simulator.trace.schema import LANES, KernelTrace

IMAGE, WINDOW, COLUMNS = (2512, 2048), 13, 2500 * 2048
POOL_PLANES, POOL_IN, POOL_OUT, POOL_WINDOW, POOL_STRIDE = 100, (2560, 1000), (256, 100), 5, 10
BATCH, PLANES, ROW = 128, 10_000, 100
UPSAMPLE_PLANES, SMALL, LARGE = 20, (256, 100), (2000, 2560)
VALUES, BINS = 5_000_000, 20
FLOAT, INDEX = 4, 8
DIVISION_32, DIVISION_64 = 20, 70
TAP_64 = 38
UNROLLED = 4
"""Turns that a compiler puts side by side where it does not know how many there are."""
ADDRESS, VALUE, WORK = 4, 8, 12
FULLEST_BIN = 0.195
"""Share of normal values in the fullest of 20 bins between the extremes of five million of them."""
LANES_LEFT = 3
"""Lanes of a warp that still wait for the fullest bin, over its turns."""
STATISTICS_X = 128
MANY_WARPS, MANY = 64, 1 << 30
SAME_COLUMNS, SAME_ROWS = 32, 8
NEEDED = {"im2col": 58, "max_pool": 24, "statistics": 26, "upsample": 54, "histogram": 32}
"""The fewest registers of a thread that the artifact names for the kernel alone, none of which it was slower
with than with more.
"""
SPILLED_INTO = 24, 4
"""First register that takes values back from local memory, and how many take turns."""
Body = Callable[[KernelBuilder, "Threads"], None]


class Threads:
    """The threads that run a body: how many of a block, from which, and the grid."""

    def __init__(
        self, grid: int, count: int, first: int = 0, *, alone: bool = True, spilled: int = 0
    ) -> None:
        self.grid, self.count, self.first, self.spilled = grid, count, first, spilled
        self.number = thread - first if first else thread
        self.index = block * count + self.number
        self.stride = grid * count
        self.alone = alone

    def within(self, turn: Expression, total: int) -> Expression:
        """1 for warps whose elements of a turn exist, else 0; totals are whole warps."""
        first = turn * self.stride + block * self.count + warp * LANES - self.first
        return (total - 1 - first + MANY) // MANY

    def turns(self, total: int) -> int:
        """Turns of a grid-stride loop over so many elements."""
        return -(-total // self.stride)


def im2col(k: KernelBuilder, threads: Threads) -> None:
    """Thirteen rows of an image for each place: read once from L1 or L2, written to thirteen planes."""
    memory = GlobalMemory(1 << 36)
    image = memory.tensor("image", IMAGE[0] * IMAGE[1] * FLOAT, "input")
    result = memory.tensor("columns", WINDOW * COLUMNS * FLOAT, "output")
    with repeat(k, threads.turns(COLUMNS)) as turn:
        place = turn * threads.stride + threads.index
        with k.when(threads.within(turn, COLUMNS)):
            work(k, Operation.ALU, 2 * DIVISION_64)
            spill(k, threads)
            for row in range(WINDOW):
                fill(k, threads)
                work(k, Operation.ALU, TAP_64)
                k.load(WORK, k.at(image, (place + row * IMAGE[1]) * FLOAT), FLOAT, ADDRESS, tensor=image)
                k.store(WORK, k.at(result, (place + row * COLUMNS) * FLOAT), FLOAT, ADDRESS, tensor=result)


def max_pool(k: KernelBuilder, threads: Threads) -> None:
    """The largest of 5 × 5 at every tenth place, and where it is."""
    memory = GlobalMemory(1 << 37)
    total = POOL_PLANES * POOL_OUT[0] * POOL_OUT[1]
    image = memory.tensor("image", POOL_PLANES * POOL_IN[0] * POOL_IN[1] * FLOAT, "input")
    result = memory.tensor("largest", total * FLOAT, "output")
    where = memory.tensor("where", total * INDEX, "output")
    with repeat(k, threads.turns(total)) as turn:
        place = turn * threads.stride + threads.index
        across, down = place % POOL_OUT[1], place // POOL_OUT[1]
        with k.when(threads.within(turn, total)):
            work(k, Operation.ALU, 4 * DIVISION_32)
            for row in range(POOL_WINDOW):
                for columns in (range(UNROLLED), range(UNROLLED, POOL_WINDOW)):
                    for column in columns:
                        start = (down * POOL_STRIDE + row) * POOL_IN[1] + across * POOL_STRIDE + column
                        register = VALUE + column % UNROLLED
                        k.load(register, k.at(image, start * FLOAT), FLOAT, ADDRESS, tensor=image)
                    for column in columns:
                        k.setp(0, VALUE + column % UNROLLED)
                        k.alu(WORK + 1, VALUE + column % UNROLLED)
                        k.alu(WORK + 2, WORK)
            k.store(WORK + 1, k.at(result, place * FLOAT), FLOAT, ADDRESS, tensor=result)
            k.store(WORK + 2, k.at(where, place * INDEX), INDEX, ADDRESS, tensor=where)


def statistics(k: KernelBuilder, threads: Threads) -> None:
    """Mean and variance of each plane by a running sum: a division for each value, a row after the other."""
    memory = GlobalMemory(1 << 38)
    image = memory.tensor("image", BATCH * PLANES * ROW * FLOAT, "input")
    result = memory.tensor("statistics", PLANES * 4 * FLOAT, "output")
    rows = threads.count // STATISTICS_X
    column = threads.number % STATISTICS_X
    first = threads.number // STATISTICS_X
    with repeat(k, BATCH // rows) as turn:
        row = turn * rows + first
        place = (row * PLANES + block) * ROW + column
        with k.guard(column, 0, ROW):
            k.load(WORK, k.at(image, place * FLOAT), FLOAT, ADDRESS, tensor=image)
            k.fadd(WORK + 1, WORK, WORK + 2)
            k.emit(Operation.MUFU, WORK + 3, WORK + 4)
            for _ in range(6):
                k.emit(Operation.FFMA, WORK + 3, (WORK + 3, WORK + 1, WORK + 4))
            k.fadd(WORK + 2, WORK + 2, WORK + 3)
            k.emit(Operation.FFMA, WORK + 5, (WORK + 1, WORK + 2, WORK + 5))
            k.alu(WORK + 4, WORK + 4)
    for _ in range(10):
        k.emit(Operation.SHUFFLE, WORK + 1, WORK + 2)
        k.emit(Operation.FFMA, WORK + 2, (WORK + 1, WORK + 2, WORK + 5))
    meet(k, threads)
    meet(k, threads)
    with k.guard(threads.number, 0, 1):
        k.store(WORK, k.at(result, block * (4 * FLOAT)), FLOAT, ADDRESS, tensor=result)


def upsample(k: KernelBuilder, threads: Threads) -> None:
    """Four neighbours of a small image for each place of a large one, plane after plane."""
    memory = GlobalMemory(1 << 39)
    total = LARGE[0] * LARGE[1]
    image = memory.tensor("image", UPSAMPLE_PLANES * SMALL[0] * SMALL[1] * FLOAT, "input")
    result = memory.tensor("large", UPSAMPLE_PLANES * total * FLOAT, "output")
    with repeat(k, threads.turns(total)) as turn:
        place = turn * threads.stride + threads.index
        work(k, Operation.ALU, DIVISION_32)
        work(k, Operation.FFMA, 10)
        # 25.9 columns and 7.8 rows of the large image have the same neighbours.
        left, top = (place // SAME_COLUMNS) % (LARGE[1] // SAME_COLUMNS), place // (LARGE[1] * SAME_ROWS)
        spill(k, threads)
        with k.when(threads.within(turn, total)), repeat(k, UPSAMPLE_PLANES, 13) as plane:
            fill(k, threads)
            corner = (plane * SMALL[0] + top) * SMALL[1] + left
            for number, (y, x) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
                near = (corner + y * SMALL[1] + x) * FLOAT
                work(k, Operation.IMAD, 4)
                k.load(WORK + number, k.at(image, near), FLOAT, ADDRESS, tensor=image)
            for number in range(6):
                k.emit(Operation.FFMA, WORK + 5, (WORK + number % 4, WORK + 4, WORK + 5))
            work(k, Operation.IMAD, 4)
            k.store(WORK + 5, k.at(result, (plane * total + place) * FLOAT), FLOAT, ADDRESS, tensor=result)


def histogram(k: KernelBuilder, threads: Threads) -> None:
    """Twenty bins in shared memory, whose sums are added to the result by every block."""
    memory = GlobalMemory(1 << 40)
    values = memory.tensor("values", VALUES * FLOAT, "input")
    result = memory.tensor("bins", BINS * FLOAT, "output")
    meet(k, threads)
    with repeat(k, threads.turns(VALUES)) as turn:
        place = turn * threads.stride + threads.index
        with k.when(threads.within(turn, VALUES)):
            k.load(WORK, k.at(values, place * FLOAT), FLOAT, ADDRESS, tensor=values)
            work(k, Operation.FFMA, DIVISION_32)
            # Floats are added by comparing and swapping. A swap fails if any thread of the block has changed
            # the bin since the load, so the fullest bin takes one thread a turn, and a warp is through when
            # the last of its lanes there is.
            lanes = FULLEST_BIN * LANES
            with (
                repeat(k, round(FULLEST_BIN * threads.count * lanes / (lanes + 1)), 14),
                k.guard(lane, 0, LANES_LEFT),
            ):
                k.load_shared(WORK + 1, lane * 0, via=WORK)
                k.fadd(WORK + 1, WORK + 1, WORK)
                k.emit(Operation.ATOMS, WORK + 2, (WORK, WORK + 1), address=lane * 0, bytes_per_lane=4)
    meet(k, threads)
    with k.guard(threads.number, 0, BINS):
        k.load_shared(WORK, threads.number * FLOAT, via=ADDRESS)
        k.emit(
            Operation.REDG,
            (),
            (ADDRESS, ADDRESS + 1, WORK),
            address=k.at(result, threads.number * FLOAT),
            bytes_per_lane=4,
            tensor=result,
        )


BODIES: dict[str, Body] = {
    "im2col": im2col,
    "max_pool": max_pool,
    "statistics": statistics,
    "upsample": upsample,
    "histogram": histogram,
}
SHARED_BYTES = {"statistics": 640, "histogram": 80}
OWN_THREADS = {"max_pool": 256, "statistics": 512, "histogram": 512, "im2col": 512, "upsample": 512}


def meet(k: KernelBuilder, threads: Threads) -> None:
    """A barrier; left out where only a part of the block would meet, which costs little beside its loops."""
    if threads.alone:
        k.barrier()


def work(k: KernelBuilder, operation: Operation, count: int) -> None:
    """So many instructions of a class, in two chains."""
    for number in range(count):
        register = WORK + 8 + number % 2
        sources = (register, WORK + 10, WORK + 11) if operation is not Operation.ALU else (register,)
        k.emit(operation, register, sources)


def spill(k: KernelBuilder, threads: Threads) -> None:
    """Put away what a thread has no registers for."""
    for number in range(threads.spilled):
        k.emit(Operation.STL, (), WORK, address=FLOAT * number, bytes_per_lane=FLOAT)


def fill(k: KernelBuilder, threads: Threads) -> None:
    """Get it back, a value at a time."""
    first, registers = SPILLED_INTO
    for number in range(threads.spilled):
        register = first + number % registers
        k.emit(Operation.LDL, register, (), address=FLOAT * number, bytes_per_lane=FLOAT)
        k.alu(WORK + 8, register)


def hfuse_trace(first: str, second: str, how: str, grid: int, threads: int, registers: int) -> KernelTrace:
    """The kernel of one or two bodies."""
    shared = sum(SHARED_BYTES.get(one, 0) for one in (first, second))
    spilled = {one: max(0, NEEDED[one] - registers) for one in (first, second) if one}
    k = KernelBuilder(
        "_".join(filter(None, (first, second))),
        grid,
        threads,
        registers,
        shared_bytes_per_block=shared,
        local_bytes_per_thread=FLOAT * max(spilled.values()),
    )
    k.s2r(0)
    k.s2r(1)
    k.wide(ADDRESS, 0)
    for number, (name, count, start) in enumerate(_ranges(first, second, how, threads)):
        if number and how == "threads in turn":
            k.barrier()
        part = Threads(grid, count, start, alone=count == threads, spilled=spilled[name])
        if count == threads:
            BODIES[name](k, part)
            continue
        with k.when(_inside(start, count)):
            BODIES[name](k, part)
    return k.build()


def _ranges(first: str, second: str, how: str, threads: int) -> list[tuple[str, int, int]]:
    if not second:
        return [(first, threads, 0)]
    if how == "shared threads":
        return [
            (one, min(threads, OWN_THREADS[one]) if one == "max_pool" else threads, 0)
            for one in (first, second)
        ]
    share = min(OWN_THREADS[second], threads // 2) if second == "max_pool" else threads // 2
    if first == "max_pool":
        share = threads - OWN_THREADS[first]
    return [(first, threads - share, 0), (second, share, threads - share)]


def _inside(start: int, count: int) -> Expression:
    """1 for the warps of the first or the last threads of a block, else 0."""
    border = (start or count) // LANES
    later = (warp + (MANY_WARPS - border)) // MANY_WARPS
    return later if start else 1 - later


def hfuse_seconds(
    gpu: Gpu, first: str, second: str, how: str, grid: int, block: int, registers: int
) -> float:
    """Time of the kernel as a profiler sees it."""
    trace = hfuse_trace(first, second, how, grid, block, registers)
    return kernel_seconds([trace], gpu, first_gap=False)

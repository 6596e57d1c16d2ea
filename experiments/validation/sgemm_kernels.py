"""Steps of the public SGEMM ladder as traces: from one thread a result to tiles in registers, single
precision.

The inner loop decides the rate of a large product, so a wave of blocks is replayed over two depths, and the
difference is the rate. Tiles, threads and access widths are those of the ladder's kernels; programs are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.validation.machine import run, slice_of
from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.machine.launchable import occupancy_of
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import Expression, block, thread
from simulator.trace.kernels.common import repeat
from simulator.trace.part import first_blocks
from simulator.trace.schema import KernelTrace, TensorInfo

FLOAT = 4
ADDRESS, LEFT, RIGHT, SUMS = 4, 16, 32, 40
RESULTS = 64
"""Sums are spread over this many registers at most, beyond which they would be named in vain."""


@dataclass(frozen=True, slots=True)
class Step:
    """A tile of `rows` × `columns` results of a block over `depth`, `own` × `other` of them a thread; how
    wide global and shared loads are; `direct`: operands come from global memory for each product.
    """

    rows: int
    columns: int
    depth: int
    own: int
    other: int
    width: int = 1
    direct: str = ""
    copies: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows * self.columns // (self.own * self.other)


STEPS = {
    "naive": Step(32, 32, 8, 1, 1, direct="uncoalesced"),
    "coalesced": Step(32, 32, 8, 1, 1, direct="coalesced"),
    "gmem_coalesce": Step(32, 32, 8, 1, 1, direct="coalesced"),
    "smem_tile": Step(32, 32, 32, 1, 1),
    "smem_cache": Step(32, 32, 32, 1, 1),
    "1d_blocktile": Step(64, 64, 8, 8, 1),
    "2d_blocktile": Step(128, 128, 8, 8, 8),
    "vectorized": Step(128, 128, 8, 8, 8, 4),
    "autotuned": Step(128, 128, 16, 8, 8, 4),
    "autotuning": Step(128, 128, 16, 8, 8, 4),
    "warptile": Step(128, 128, 16, 8, 8, 4),
    "double_buffer": Step(128, 128, 16, 8, 8, 4, copies=2),
}


def sgemm_operations_per_second(gpu: Gpu, step: str, extent: int) -> float:
    """Floating-point operations a second of a large square product."""
    chosen = STEPS[step]
    part, _ = slice_of(gpu)
    depth = 2 * chosen.depth if chosen.direct else 4 * chosen.depth
    shallow, deep = (_product(chosen, extent, turns) for turns in (depth, 2 * depth))
    blocks = occupancy_of(shallow, part).blocks_per_sm * part.sm_count
    cycles = [run([first_blocks(one, blocks)], part).cycles for one in (shallow, deep)]
    products = blocks * chosen.rows * chosen.columns * depth
    rate = 2 * products / (cycles[1] - cycles[0]) * gpu.clock_mhz * 1e6
    return rate * gpu.sm_count / part.sm_count


def _product(step: Step, extent: int, depth: int) -> KernelTrace:
    memory = GlobalMemory()
    left = memory.tensor("a", extent * extent * FLOAT, "input")
    right = memory.tensor("b", extent * extent * FLOAT, "input")
    result = memory.tensor("c", extent * extent * FLOAT, "output")
    across = extent // step.columns
    shared = 0 if step.direct else (step.rows + step.columns) * step.depth * FLOAT * step.copies
    k = KernelBuilder("sgemm", across * (extent // step.rows), step.threads, shared_bytes_per_block=shared)
    k.s2r(0)
    k.wide(ADDRESS, 0)
    row, column = (block // across) * step.rows, (block % across) * step.columns
    if step.direct:
        _direct(k, step, (left, right), extent, depth, row, column)
    else:
        _tiled(k, step, (left, right), extent, depth, row, column)
    k.store(SUMS, k.at(result, (row * extent + column + thread) * FLOAT), FLOAT, ADDRESS, tensor=result)
    return k.build()


def _direct(
    k: KernelBuilder,
    step: Step,
    operands: tuple[TensorInfo, TensorInfo],
    extent: int,
    depth: int,
    row: Expression,
    column: Expression,
) -> None:
    """Each product loads both operands; neighbouring threads differ in the row or in the column."""
    inner, outer = thread % step.columns, thread // step.columns
    own_row, own_column = (
        (row + inner, column + outer) if step.direct == "uncoalesced" else (row + outer, column + inner)
    )
    left, right = operands
    with repeat(k, depth // step.depth) as turn:
        for part in range(step.depth):
            place = turn * step.depth + part
            first, second = LEFT + part, RIGHT + part
            k.load(first, k.at(left, (own_row * extent + place) * FLOAT), FLOAT, ADDRESS, tensor=left)
            k.load(second, k.at(right, (place * extent + own_column) * FLOAT), FLOAT, ADDRESS, tensor=right)
        for part in range(step.depth):
            k.emit(Operation.FFMA, SUMS, (LEFT + part, RIGHT + part, SUMS))


def _tiled(
    k: KernelBuilder,
    step: Step,
    operands: tuple[TensorInfo, TensorInfo],
    extent: int,
    depth: int,
    row: Expression,
    column: Expression,
) -> None:
    """Tiles go through shared memory; with two copies no thread waits between fetching and using."""
    with repeat(k, depth // step.depth) as turn:
        _fetch(k, step, operands, extent, turn, row, column)
        if step.copies == 1:
            k.barrier()
        for place in range(step.depth):
            _products(k, step, place)
        k.barrier()


def _fetch(
    k: KernelBuilder,
    step: Step,
    operands: tuple[TensorInfo, TensorInfo],
    extent: int,
    turn: Expression,
    row: Expression,
    column: Expression,
) -> None:
    left, right = operands
    loads: list[tuple[int, Expression]] = []
    for tensor, rows, columns in ((left, step.rows, step.depth), (right, step.depth, step.columns)):
        vectors = rows * columns // step.width
        for part in range(max(1, vectors // step.threads)):
            vector = thread + part * step.threads
            y, x = vector // (columns // step.width), vector % (columns // step.width)
            if tensor is left:
                place = (row + y) * extent + turn * step.depth + x * step.width
            else:
                place = (turn * step.depth + y) * extent + column + x * step.width
            register = LEFT + len(loads) * step.width
            k.load(register, k.at(tensor, place * FLOAT), FLOAT * step.width, ADDRESS, tensor=tensor)
            base = 0 if tensor is left else step.rows * step.depth * FLOAT
            loads.append((register, base + vector * (step.width * FLOAT)))
    for register, address in loads:
        k.store_shared(register, address, FLOAT * step.width, via=ADDRESS)


def _products(k: KernelBuilder, step: Step, place: int) -> None:
    """One step of depth: a column of the left tile, a row of the right one, and their products."""
    across = step.columns // step.other
    down, right = thread // across, thread % across
    base = step.rows * step.depth * FLOAT
    wide = step.width if step.own % step.width == 0 and step.other % step.width == 0 else 1
    for number in range(0, step.own, wide):
        address = (down * step.own + number + place * step.rows) * FLOAT
        if wide == 1:
            address = ((down * step.own + number) * step.depth + place) * FLOAT
        k.load_shared(LEFT + number, address, FLOAT * wide, via=ADDRESS)
    for number in range(0, step.other, wide):
        k.load_shared(RIGHT + number, base + (right * step.other + number + place * step.columns) * FLOAT,
                      FLOAT * wide, via=ADDRESS)  # fmt: skip
    for own in range(step.own):
        for other in range(step.other):
            register = SUMS + (own * step.other + other) % RESULTS
            k.emit(Operation.FFMA, register, (LEFT + own, RIGHT + other, register))

"""Convolution as an implicit matrix product: on tensor cores for halves in and out with single-precision
sums, by multiply-adds for single precision. Tiles are staged twice through shared memory, and the epilogue
may carry a chain of element-wise operators.

The epilogue rounds the sums, turns them round in shared memory so that each lane holds 16 bytes of
neighbouring channels, applies the chain, and writes whole vectors. Split depth, Winograd and implicit
precomputed offsets, which libraries also choose from, are not built here.
"""

from collections.abc import Callable

from simulator.trace.schema import TensorInfo
from simulator.workload.affine import Index
from simulator.workload.builders.chain import (
    Stage,
    channel_parameters,
    load_others,
    other_pointers,
)
from simulator.workload.builders.chain_arithmetic import apply
from simulator.workload.builders.geometry import COLUMNS, THREADS, Convolution, Tile, grid_for, tile_for
from simulator.workload.builders.matrix import Matrix
from simulator.workload.builders.matrix_884 import Matrix884
from simulator.workload.builders.matrix_16816 import Matrix16816
from simulator.workload.builders.matrix_fma import MatrixFma
from simulator.workload.builders.staging import Staging
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Special
from simulator.workload.layout import VECTOR_BYTES
from simulator.workload.target import Target

PASSES_AT_ONCE = 4


def convolution_kernel(
    name: str,
    operator: str,
    shape: Convolution,
    pixels: TensorInfo,
    filters: TensorInfo,
    result: TensorInfo,
    stages: tuple[Stage, ...],
    target: Target,
    tile: Tile | None = None,
) -> Kernel:
    """The program of one convolution with its epilogue; `result` is what the product alone gives."""
    tile = tile or tile_for(shape, target.sm_count)
    grid, columns_in_x = grid_for(shape, tile)
    emitter = Emitter(name, grid, THREADS)
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        x, y = emitter.special(Special.BLOCK_X), emitter.special(Special.BLOCK_Y)
        column_block, row_block = (x, y) if columns_in_x else (y, x)
        staging = Staging(emitter, shape, tile, pixels, filters, async_copy=target.async_copy)
        result_id = emitter.tensor(result)
        inner = inner_loop(shape, target)
        matrix = inner(emitter, tile, staging.pixel_id, staging.filter_id, result_id)
        main_loop(emitter, shape, tile, staging, matrix, (thread, row_block, column_block))
        matrix.deposit(thread)
        emitter.barrier()
    epilogue(emitter, operator, shape, tile, (thread, row_block, column_block), result, stages)
    return emitter.finish(max(tile.shared_bytes, tile.rows * shape.out_pitch))


def inner_loop(shape: Convolution, target: Target) -> Callable[[Emitter, Tile, int, int, int], Matrix]:
    """Tensor cores for halves, in the card's shape; multiply-adds for single precision."""
    if shape.element_bytes == 4:
        return MatrixFma
    return Matrix16816 if target.matrix_load else Matrix884


def main_loop(
    emitter: Emitter,
    shape: Convolution,
    tile: Tile,
    staging: Staging,
    matrix: Matrix,
    place: tuple[Scalar, Scalar, Scalar],
) -> None:
    """The sum over depth tiles: while one is multiplied the next one is on its way into the other stage."""
    turns = shape.depth_tiles
    copies = staging.begin(*place)
    staging.fetch(Index(), copies, None)
    if staging.async_copy:
        emitter.commit()
    else:
        staging.deposit(copies)
        emitter.barrier()
    matrix.begin(place[0])
    matrix.clear()
    if turns > 1:
        staging.advance()
    with emitter.repeat(turns) as turn:
        stage = None
        if staging.async_copy:
            emitter.wait(0)
            emitter.barrier()
        if turns > 1:
            following = emitter.add(turn, 1)
            more = emitter.within(following, turns)
            other = emitter.multiply_add(
                emitter.remainder(following, 2), tile.stage_bytes, copies, "next place"
            )
            staging.fetch(following.index, other, more)
            if staging.async_copy:
                emitter.commit()
            staging.advance()
            stage = emitter.multiply_add(emitter.remainder(turn, 2), tile.stage_bytes, name="stage")
        matrix.multiply(stage)
        if not staging.async_copy:
            if turns > 1:
                staging.deposit(other)
            emitter.barrier()
    if staging.async_copy:
        # The last turn's copies are all predicated off, but their zeros must not land in the output tile.
        emitter.wait(0)
        emitter.barrier()


def epilogue(
    emitter: Emitter,
    operator: str,
    shape: Convolution,
    tile: Tile,
    place: tuple[Scalar, Scalar, Scalar],
    result: TensorInfo,
    stages: tuple[Stage, ...],
) -> None:
    """From the shared output tile to global memory through the chain, a vector a lane and pass."""
    thread, row_block, column_block = place
    size, pitch = shape.element_bytes, shape.out_pitch
    lanes = min(VECTOR_BYTES // size, shape.stored_filters)
    words = lanes * size // 4
    chunks = COLUMNS // lanes
    rows_a_pass = THREADS // chunks
    last = stages[-1].result if stages else result
    with emitter.working_for(operator):
        chunk = emitter.remainder(thread, chunks, name="chunk")
        row = emitter.divide(thread, chunks, "row")
        shared = emitter.multiply_add(row, pitch, emitter.multiply_add(chunk, size * lanes), "output place")
        column = emitter.multiply_add(column_block, COLUMNS, emitter.multiply_add(chunk, lanes), "channel")
        pixel = emitter.multiply_add(row_block, tile.rows, row, "pixel")
        element = emitter.multiply_add(pixel, shape.stored_filters, column, "element")
        out = emitter.pointer(last.base_address, element, size, f"{last.name} address")
        inside = emitter.within(column, shape.stored_filters) if shape.stored_filters % COLUMNS else None
        result_id, last_id = emitter.tensor(result), emitter.tensor(last)
    parameters = channel_parameters(emitter, stages, column, shape.stored_filters, lanes, inside)
    pointers = other_pointers(emitter, stages, element, size)
    passes = range(0, tile.rows, rows_a_pass)
    for start in range(0, len(passes), PASSES_AT_ONCE):
        batch = []
        for step in passes[start : start + PASSES_AT_ONCE]:
            flag: Flag | None = inside
            with emitter.working_for(operator):
                if shape.rows % tile.rows:
                    flag = emitter.within(emitter.add(pixel, step) if step else pixel, shape.rows, inside)
                vector = emitter.load(shared, words, step * pitch, tensor=result_id, name=result.name)
            offset = size * shape.stored_filters * step
            others = load_others(emitter, stages, pointers, words, offset, flag)
            batch.append((vector, others, offset, flag))
        for vector, others, offset, flag in batch:
            if stages:
                apply(emitter, stages, vector, size == 2, parameters, others)
            with emitter.working_for(stages[-1].operator if stages else operator):
                emitter.store(out, vector, offset, flag, last_id)

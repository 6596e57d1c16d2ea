"""Convolution as an implicit matrix product: on tensor cores for halves in and out with single-precision
sums, by multiply-adds for single precision. Tiles are staged twice through shared memory, and the epilogue
may carry a chain of element-wise operators.

The epilogue rounds the sums, turns them round in shared memory so that each lane holds 16 bytes of
neighbouring channels, applies the chain, and writes whole vectors. Split depth, Winograd and implicit
precomputed offsets, which libraries also choose from, are not built here.
"""

from collections.abc import Callable
from math import gcd

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.epilogue import Sheet, epilogue
from simulator.workload.builders.geometry import THREADS, Convolution, Tile, grid_for, out_pitch, tile_for
from simulator.workload.builders.main_loop import main_loop
from simulator.workload.builders.matrix import Matrix
from simulator.workload.builders.matrix_884 import Matrix884
from simulator.workload.builders.matrix_16816 import Matrix16816
from simulator.workload.builders.matrix_fma import MatrixFma
from simulator.workload.builders.staging import Staging
from simulator.workload.builders.tap_staging import TapStaging
from simulator.workload.emit import Emitter
from simulator.workload.ir import Kernel, Special
from simulator.workload.layout import VECTOR_BYTES
from simulator.workload.target import Target


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
    kept: frozenset[str] = frozenset(),
) -> Kernel:
    """The program of one convolution with its epilogue; `result` is what the product alone gives, and values
    inside the chain that are `kept` by name are stored as well.
    """
    tile = tile or tile_for(shape, target.sm_count)
    grid, columns_in_x = grid_for(shape, tile)
    emitter = Emitter(name, grid, THREADS)
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        x, y = emitter.special(Special.BLOCK_X), emitter.special(Special.BLOCK_Y)
        column_block, row_block = (x, y) if columns_in_x else (y, x)
        bring = TapStaging if shape.by_taps else Staging
        staging = bring(emitter, shape, tile, pixels, filters, async_copy=target.async_copy)
        result_id = emitter.tensor(result)
        inner = inner_loop(shape.element_bytes, target)
        matrix = inner(emitter, tile, staging.pixel_id, staging.filter_id, result_id)
        main_loop(emitter, shape.depth_tiles, tile, staging, matrix, (thread, row_block, column_block))
        matrix.deposit(thread)
        emitter.barrier()
        base = None
        if shape.groups > 1:
            base = emitter.multiply_add(emitter.special(Special.BLOCK_Z), shape.group_filters, name="group")
    size = shape.element_bytes
    lanes = gcd(VECTOR_BYTES // size, shape.columns, shape.stored_filters)
    sheet = Sheet(shape.rows, shape.columns, shape.stored_filters, size, lanes, base, base)
    epilogue(emitter, operator, sheet, tile, (thread, row_block, column_block), result, stages, kept)
    return emitter.finish(max(tile.shared_bytes, tile.rows * out_pitch(shape.element_bytes)))


def inner_loop(element_bytes: int, target: Target) -> Callable[..., Matrix]:
    """Tensor cores for halves, in the card's shape; multiply-adds for single precision."""
    if element_bytes == 4:
        return MatrixFma
    return Matrix16816 if target.matrix_load else Matrix884

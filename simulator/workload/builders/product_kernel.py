"""A matrix product as a kernel: tensor cores for halves, multiply-adds for single precision, both operands in
either direction, batches in the grid's third dimension, and an epilogue that may carry a chain of
element-wise operators.

Sums are in single precision. Libraries also split the depth over blocks where rows and columns are few, and
choose among dozens of tiles; here there are two.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.convolution import inner_loop
from simulator.workload.builders.epilogue import Sheet, epilogue
from simulator.workload.builders.geometry import THREADS, Tile, out_pitch
from simulator.workload.builders.main_loop import main_loop
from simulator.workload.builders.matrix import Matrix
from simulator.workload.builders.product import Operand, Product, batch_offset
from simulator.workload.builders.product_staging import ProductStaging
from simulator.workload.emit import Emitter
from simulator.workload.ir import Effect, Kernel, Special
from simulator.workload.target import Target


def product_kernel(
    name: str,
    operator: str,
    product: Product,
    operands: tuple[Operand, Operand],
    result: Operand,
    stages: tuple[Stage, ...],
    target: Target,
    tile: Tile | None = None,
    scale: float = 1.0,
    kept: frozenset[str] = frozenset(),
) -> Kernel:
    """The program of scale * A · B with its epilogue; `result` is what the product alone gives, its columns
    side by side in memory; values inside the chain that are `kept` by name are stored as well.
    """
    tile = tile or product.tile(target.sm_count)
    grid, columns_in_x = product.grid(tile)
    emitter = Emitter(name, grid, THREADS)
    size = product.element_bytes
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        x, y = emitter.special(Special.BLOCK_X), emitter.special(Special.BLOCK_Y)
        column_block, row_block = (x, y) if columns_in_x else (y, x)
        staging = ProductStaging(emitter, product, tile, *operands, async_copy=target.async_copy)
        left, right = (copier.tensor for copier in staging.copiers)
        turned = (operands[0].turned, operands[1].turned)
        inner = inner_loop(size, target)
        matrix = inner(emitter, tile, left, right, emitter.tensor(result.info), turned)
        main_loop(emitter, product.depth_tiles, tile, staging, matrix, (thread, row_block, column_block))
        if scale != 1.0:
            scale_sums(emitter, matrix, scale, emitter.tensor(result.info))
        matrix.deposit(thread)
        emitter.barrier()
        base = None
        if product.batch:
            number = emitter.special(Special.BLOCK_Z)
            base = batch_offset(emitter, number, product.batch, result.batch)
    lanes = result.lanes(product.columns, result.along if product.rows > 1 else 0, size)
    sheet = Sheet(product.rows, product.columns, result.along, size, lanes, base)
    epilogue(emitter, operator, sheet, tile, (thread, row_block, column_block), result.info, stages, kept)
    return emitter.finish(max(tile.shared_bytes, tile.rows * out_pitch(size)))


def scale_sums(emitter: Emitter, matrix: Matrix, scale: float, tensor: int) -> None:
    """Multiply every accumulator by a constant."""
    for total in matrix.accumulators():
        for word in range(total.words):
            emitter.op(
                Operation.FMUL,
                Effect.FLOAT_SCALE,
                (total[word],),
                (total[word],),
                (scale,),
                dst_tensor=tensor,
            )

"""A kernel that exchanges which dimension is contiguous, tile by tile through shared memory: rows are read
whole, columns are written whole, and the turn happens in shared memory.

Without the padding word at the end of each shared row, a column's lanes meet in few banks; with it they
spread over all of them. Element sizes of 2 and 4 bytes; one element a lane, as the plain published kernels
have it.
"""

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.copying import Copying, Piece
from simulator.workload.builders.digits import combined, digits_of
from simulator.workload.emit import INDEX_LIMIT, Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Special

SIDE = 32
WARPS = 8
LEAST_EXTENT = 16
PAD_BYTES = 4  # one bank


def turned(copying: Copying) -> tuple[int, int] | None:
    """(digit contiguous in the source, digit contiguous in the target) of a copy that tiles pay for."""
    if not copying.plain or copying.item_bytes not in {2, 4}:
        return None
    source, target = copying.sources[0], copying.targets[0]
    if 1 not in source.strides or 1 not in target.strides:
        return None
    first, second = source.strides.index(1), target.strides.index(1)
    small = min(copying.extents[first], copying.extents[second]) < LEAST_EXTENT
    return None if first == second or small else (first, second)


def matrices(
    source: TensorInfo, target: TensorInfo, batch: int, rows: int, columns: int, item_bytes: int
) -> Copying:
    """Transposition of `batch` matrices of rows * columns: NCHW → NHWC with rows = C and columns = H * W, and
    back.
    """
    area = rows * columns
    return Copying(
        (batch, columns, rows),
        (Piece(source, (area, 1, columns)),),
        (Piece(target, (area, rows, 1)),),
        item_bytes,
    )


def transpose_kernel(name: str, operator: str, copying: Copying, *, padded: bool = True) -> Kernel:
    """The program of a tiled transposition."""
    walk = copying.simplified()
    turn = turned(walk)
    if turn is None:
        raise InputError(name, "is no transposition of two long dimensions", "use the plain copy")
    if walk.elements >= INDEX_LIMIT:
        raise InputError(name, f"{walk.elements} elements exceed 32-bit indices", "use a smaller batch")
    along_source, along_target = turn
    size, (source,), (target,) = walk.item_bytes, walk.sources, walk.targets
    pitch = SIDE + (PAD_BYTES // size if padded else 0)
    tiles = tuple(-(-walk.extents[digit] // SIDE) for digit in (along_target, along_source))
    outer = [digit for digit in range(len(walk.extents)) if digit not in turn]
    extents = (*(walk.extents[digit] for digit in outer), *tiles)
    blocks = 1
    for extent in extents:
        blocks *= extent
    emitter = Emitter(name, (blocks, 1, 1), SIDE * WARPS)
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        *batch, target_tile, source_tile = digits_of(emitter, block, extents, [True] * len(extents))
        lane = emitter.remainder(thread, SIDE, name="lane")
        warp = emitter.divide(thread, SIDE, "warp")
        ids = [emitter.tensor(source.info), emitter.tensor(target.info)]
        ways = []
        for piece, wide_tile, high_tile in (
            (source, source_tile, target_tile),
            (target, target_tile, source_tile),
        ):
            wide, high = turn if piece is source else turn[::-1]
            column = emitter.multiply_add(wide_tile, SIDE, lane, "column")
            row = emitter.multiply_add(high_tile, SIDE, warp, "row")
            steps = (*(piece.strides[digit] for digit in outer), piece.strides[high], 1)
            element = combined(emitter, [*batch, row, column], steps, piece.offset, "element")
            pointer = emitter.pointer(piece.info.base_address, element, size, f"{piece.info.name} address")
            limits = (walk.extents[wide], walk.extents[high])
            ways.append((pointer, column, row, limits, piece.strides[high]))
        place = emitter.multiply_add(warp, pitch * size, emitter.multiply_add(lane, size), "shared row")
        turned_place = emitter.multiply_add(lane, pitch * size, emitter.multiply_add(warp, size), "column")
        pointer, column, row, limits, stride = ways[0]
        loaded = []
        for step in range(0, SIDE, WARPS):
            flag = inside(emitter, column, row, limits, step)
            loaded.append(
                emitter.load(
                    pointer, 1, step * stride * size, flag, ids[0], width=size, name=source.info.name
                )
            )
        for number, value in enumerate(loaded):
            emitter.store(place, value, number * WARPS * pitch * size, width=size)
        emitter.barrier()
        pointer, column, row, limits, stride = ways[1]
        values = [
            emitter.load(turned_place, 1, step * size, tensor=ids[0], width=size, name="turned")
            for step in range(0, SIDE, WARPS)
        ]
        for number, value in enumerate(values):
            step = number * WARPS
            flag = inside(emitter, column, row, limits, step)
            emitter.store(pointer, value, step * stride * size, flag, ids[1], width=size)
    return emitter.finish(SIDE * pitch * size)


def inside(emitter: Emitter, column: Scalar, row: Scalar, limits: tuple[int, int], step: int) -> Flag | None:
    """The predicate of one element, where the tile hangs over an edge."""
    flag = emitter.within(column, limits[0]) if limits[0] % SIDE else None
    if limits[1] % SIDE == 0:
        return flag
    return emitter.within(emitter.add(row, step) if step else row, limits[1], flag)

"""A batched matrix product C = A · B as tiles see it: extents, and for each operand how far apart in memory
neighbouring rows (or columns), depths and batches lie.

An operand lies along its depth or along its rows; both are staged without a transposing pass. Strides of 0
repeat an operand over a batch. Split depth and products of other element types are not built here.
"""

from dataclasses import dataclass
from math import gcd, prod

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.geometry import COLUMNS, INDEX_LIMIT, MAX_GRID_Y, ROW_BYTES, Tile
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.layout import VECTOR_BYTES


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor in a product: element strides along its rows (A, C) or columns (B), along the other extent of
    its matrix, and along each batch extent.
    """

    info: TensorInfo
    along: int
    across: int
    batch: tuple[int, ...] = ()

    @property
    def turned(self) -> bool:
        """Whether it lies along its rows or columns rather than along the depth."""
        return self.across != 1

    def lanes(self, contiguous: int, other: int, element_bytes: int) -> int:
        """Elements of the widest vector that every row of the matrix holds whole, at most 16 bytes."""
        return gcd(VECTOR_BYTES // element_bytes, contiguous, other, *self.batch)


@dataclass(frozen=True, slots=True)
class Product:
    """Extents in elements, and the bytes of one."""

    rows: int
    columns: int
    depth: int
    batch: tuple[int, ...] = ()
    element_bytes: int = 4

    def __post_init__(self) -> None:
        if min(self.rows, self.columns, self.depth, *self.batch) < 1:
            raise InputError("MatMul", "product of an empty matrix", "give extents of at least 1")
        largest = max(self.rows * self.depth, self.columns * self.depth, self.rows * self.columns)
        if prod(self.batch) * largest >= INDEX_LIMIT:
            raise InputError("MatMul", "tensor exceeds 32-bit indices", "use a smaller batch")
        if prod(self.batch) > MAX_GRID_Y:
            raise InputError(
                "MatMul", f"{prod(self.batch)} products in a batch", f"at most {MAX_GRID_Y} in one kernel"
            )

    @property
    def tile_depth(self) -> int:
        """Elements of depth in a tile."""
        return ROW_BYTES // self.element_bytes

    @property
    def depth_tiles(self) -> int:
        """Turns of the main loop."""
        return -(-self.depth // self.tile_depth)

    @property
    def multiply_adds(self) -> int:
        """Products that the operator asks for."""
        return prod(self.batch) * self.rows * self.columns * self.depth

    @property
    def least_bytes(self) -> int:
        """Bytes of both operands and the result, once each."""
        cells = self.rows * self.depth + self.depth * self.columns + self.rows * self.columns
        return prod(self.batch) * cells * self.element_bytes

    def tile(self, sm_count: int) -> Tile:
        """128 rows where that still gives every SM two blocks, else 64."""
        blocks = -(-self.rows // 128) * -(-self.columns // COLUMNS) * prod(self.batch)
        return Tile(128 if blocks >= 2 * sm_count else 64)

    def grid(self, tile: Tile) -> tuple[tuple[int, int, int], bool]:
        """(grid, whether x counts column tiles): rows of tiles in x where there are too many for y."""
        columns, rows = -(-self.columns // COLUMNS), -(-self.rows // tile.rows)
        if rows <= MAX_GRID_Y:
            return (columns, rows, prod(self.batch)), True
        return (rows, columns, prod(self.batch)), False


def batch_offset(
    emitter: Emitter, number: Scalar, extents: tuple[int, ...], strides: tuple[int, ...]
) -> Scalar:
    """The element where matrix `number` of a batch starts; extents that follow on from each other merge."""
    merged: list[tuple[int, int]] = []
    for extent, stride in zip(extents, strides, strict=True):
        if extent == 1:
            continue
        if merged and merged[-1][1] == stride * extent:
            merged[-1] = (merged[-1][0] * extent, stride)
        else:
            merged.append((extent, stride))
    total: Scalar | None = None
    rest = number
    for place, (extent, stride) in enumerate(reversed(merged)):
        last = place == len(merged) - 1
        quotient = None if last else emitter.divide(rest, extent)
        digit = rest if last else emitter.remainder(rest, extent, quotient)
        if stride:
            total = emitter.multiply_add(digit, stride, total if total is not None else 0, "batch offset")
        if quotient is not None:
            rest = quotient
    if total is None:
        return emitter.multiply_add(number, 0, name="batch offset")
    return total

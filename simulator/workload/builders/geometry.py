"""The shape of a convolution as a matrix product, and the tile that a block computes.

Rows of the product are output pixels (n, p, q flattened), columns are filters, the depth runs over filter
rows r and, within one, over the S * C contiguous elements that a pixel's window covers in channels-last
memory: that contiguity is why no division is needed inside the loop. A depth tile never crosses a filter row,
so the last one of a row may be partly padding.
"""

from dataclasses import dataclass
from math import gcd

from hwmodels.errors import InputError
from simulator.workload.layout import padded_channels

ROW_BYTES = 64  # of depth in a tile row
DEPTH = 32  # halves of depth in a tile
COLUMNS = 64  # filters in a tile
PAIR_BYTES = 144  # two tile rows of 64 bytes, then 16 of skew: no bank conflict for copies and matrix loads
THREADS = 128
MAX_GRID_Y = 65_535
INDEX_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Convolution:
    """A 2-D convolution: shapes in elements, channels as the graph has them; pads are (top, left, bottom,
    right).
    """

    batch: int
    channels: int
    height: int
    width: int
    filters: int
    window: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    row_dilation: int = 1
    element_bytes: int = 2
    groups: int = 1
    column_dilation: int = 1

    def __post_init__(self) -> None:
        if self.out_height < 1 or self.out_width < 1:
            raise InputError("Conv", "window larger than the padded input", "enlarge the input or the pads")
        if self.channels % self.groups or self.filters % self.groups:
            problem = f"{self.channels} channels and {self.filters} filters in {self.groups} groups"
            raise InputError("Conv", problem, "groups that divide both")
        if max(self.rows * self.stored_filters, self.batch * self.height * self.row_elements) >= INDEX_LIMIT:
            raise InputError("Conv", "tensor exceeds 32-bit indices", "use a smaller batch")

    @property
    def out_height(self) -> int:
        """Output rows."""
        reach = self.row_dilation * (self.window[0] - 1) + 1
        return (self.height + self.pads[0] + self.pads[2] - reach) // self.strides[0] + 1

    @property
    def out_width(self) -> int:
        """Output columns."""
        reach = self.column_dilation * (self.window[1] - 1) + 1
        return (self.width + self.pads[1] + self.pads[3] - reach) // self.strides[1] + 1

    @property
    def rows(self) -> int:
        """Rows of the matrix product: output pixels."""
        return self.batch * self.out_height * self.out_width

    @property
    def stored_channels(self) -> int:
        """Channels as stored."""
        return padded_channels(self.channels)

    @property
    def stored_filters(self) -> int:
        """Output channels as stored."""
        return padded_channels(self.filters)

    @property
    def row_elements(self) -> int:
        """Elements of one input image row."""
        return self.width * self.stored_channels

    @property
    def by_taps(self) -> bool:
        """Whether only the channels of one tap are contiguous: in groups, and where columns are dilated."""
        return self.groups > 1 or self.column_dilation > 1

    @property
    def depthwise(self) -> bool:
        """Whether every channel has one filter of its own."""
        return self.groups > 1 and self.groups == self.channels == self.filters

    @property
    def group_filters(self) -> int:
        """Filters of one group: columns of the product."""
        return self.filters // self.groups

    @property
    def columns(self) -> int:
        """Columns of the product: filters as stored, or those of one group."""
        return self.group_filters if self.groups > 1 else self.stored_filters

    @property
    def filter_channels(self) -> int:
        """Channels of a filter as stored."""
        return padded_channels(self.channels // self.groups)

    @property
    def window_row(self) -> int:
        """Depth that is contiguous in memory: a filter row of S * C elements, or the channels of a tap."""
        if self.by_taps:
            return self.channels // self.groups if self.groups > 1 else self.stored_channels
        return self.window[1] * self.stored_channels

    @property
    def depth(self) -> int:
        """Elements of depth in a tile."""
        return ROW_BYTES // self.element_bytes

    @property
    def tiles_a_row(self) -> int:
        """Depth tiles of one filter row."""
        return -(-self.window_row // self.depth)

    @property
    def depth_tiles(self) -> int:
        """Depth tiles in all: turns of the main loop."""
        return self.window[0] * self.tiles_a_row * (self.window[1] if self.by_taps else 1)

    @property
    def guards_height(self) -> bool:
        """Whether a window may reach above or below the image."""
        last = (
            (self.out_height - 1) * self.strides[0] - self.pads[0] + self.row_dilation * (self.window[0] - 1)
        )
        return self.pads[0] > 0 or last >= self.height

    @property
    def guards_width(self) -> bool:
        """Whether a window may reach left or right of the image."""
        reach = self.column_dilation * (self.window[1] - 1)
        last = (self.out_width - 1) * self.strides[1] - self.pads[1] + reach
        return self.pads[1] > 0 or last >= self.width

    @property
    def pointwise(self) -> bool:
        """Whether output pixels are input pixels: no index arithmetic needed."""
        return self.window == (1, 1) and self.strides == (1, 1) and not any(self.pads)

    @property
    def chunk(self) -> int:
        """Elements of one copy: 16 bytes, or what a pixel has."""
        if self.by_taps:
            return gcd(16 // self.element_bytes, self.stored_channels, self.window_row)
        return min(16 // self.element_bytes, self.stored_channels)

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one copy."""
        return self.chunk * self.element_bytes

    @property
    def multiply_adds(self) -> int:
        """Products that the operator asks for, padding left out of the channels but not out of the image."""
        return self.rows * self.filters * self.channels // self.groups * self.window[0] * self.window[1]


def out_pitch(element_bytes: int) -> int:
    """Bytes from row to row of the shared output tile: 64 outputs and a skew against bank conflicts."""
    return COLUMNS * element_bytes + (16 if element_bytes == 2 else 32)


def turned_pitch(extent: int, element_bytes: int) -> int:
    """Bytes from depth to depth of a tile that lies in memory along its rows (or columns), not its depth."""
    return extent * element_bytes + 16


@dataclass(frozen=True, slots=True)
class Tile:
    """What a block of four warps computes: `rows` × COLUMNS outputs; a warp has half of each."""

    rows: int

    @property
    def warp_rows(self) -> int:
        """Rows of one warp's part."""
        return self.rows // 2

    @property
    def row_bytes(self) -> int:
        """Shared bytes of the pixel tile, which the filter tile follows."""
        return self.rows // 2 * PAIR_BYTES

    @property
    def stage_bytes(self) -> int:
        """Shared bytes of both tiles, once."""
        return (self.rows + COLUMNS) // 2 * PAIR_BYTES

    @property
    def shared_bytes(self) -> int:
        """Shared bytes of a block: two stages (the epilogue's tile of halves fits in them)."""
        return 2 * self.stage_bytes


def tile_for(shape: Convolution, sm_count: int) -> Tile:
    """128 rows where that still gives every SM two blocks, else 64."""
    blocks = -(-shape.rows // 128) * -(-shape.columns // COLUMNS) * shape.groups
    return Tile(128 if blocks >= 2 * sm_count else 64)


def grid_for(shape: Convolution, tile: Tile) -> tuple[tuple[int, int, int], bool]:
    """(grid, whether x counts filter tiles): neighbours share pixels, unless there are too many pixel tiles
    for y.
    """
    columns, rows = -(-shape.columns // COLUMNS), -(-shape.rows // tile.rows)
    if rows <= MAX_GRID_Y:
        return (columns, rows, shape.groups), True
    return (rows, columns, shape.groups), False

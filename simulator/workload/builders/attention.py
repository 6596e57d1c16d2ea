"""The shape of attention, softmax(scale * Q · Kᵀ) · V, as one kernel sees it: heads, queries, keys and the
head's width, and where they lie.

Halves only, and widths that divide evenly among copying threads. Masks, causal or given, are not built here.
"""

from dataclasses import dataclass
from math import prod

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.geometry import INDEX_LIMIT, MAX_GRID_Y

ROWS = 64  # queries of a block, and keys of a tile
WIDTHS = (16, 32, 64, 128)
ELEMENT_BYTES = 2


@dataclass(frozen=True, slots=True)
class Heads:
    """A tensor of heads: elements from row to row of one head, and along each batch extent."""

    info: TensorInfo
    row: int
    batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """Extents; `batch` lists what is repeated over, such as (batch, heads), or (batch, groups, heads of a
    group) where several heads of queries share keys, whose stride along the last extent is then 0.
    """

    batch: tuple[int, ...]
    queries: int
    keys: int
    width: int
    scale: float

    def __post_init__(self) -> None:
        if self.width not in WIDTHS:
            raise InputError("attention", f"heads {self.width} wide", f"one of {list(WIDTHS)}")
        if min(self.queries, self.keys, *self.batch) < 1:
            raise InputError("attention", "no queries, keys or heads", "give at least one of each")
        if prod(self.batch) > MAX_GRID_Y:
            raise InputError("attention", f"{prod(self.batch)} heads", f"at most {MAX_GRID_Y} in one kernel")
        if prod(self.batch) * max(self.queries, self.keys) * self.width >= INDEX_LIMIT:
            raise InputError("attention", "tensor exceeds 32-bit indices", "use a smaller batch")

    @property
    def pitch(self) -> int:
        """Bytes from row to row of a shared tile: a skew of 16 keeps matrix loads free of bank conflicts."""
        return self.width * ELEMENT_BYTES + 16

    @property
    def tile_bytes(self) -> int:
        """Shared bytes of a tile of keys, values, queries or outputs."""
        return ROWS * self.pitch

    @property
    def grid(self) -> tuple[int, int, int]:
        """A block for every 64 queries of every head."""
        return -(-self.queries // ROWS), prod(self.batch), 1

    @property
    def multiply_adds(self) -> int:
        """Products of both matrix products."""
        return 2 * prod(self.batch) * self.queries * self.keys * self.width

    @property
    def least_bytes(self) -> int:
        """Queries and outputs once, keys and values once, where no heads share them."""
        return 2 * prod(self.batch) * (self.queries + self.keys) * self.width * ELEMENT_BYTES

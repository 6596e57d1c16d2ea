"""Which sectors of a line a warp store covers whole: those need no byte mask and no fetch before they can be
read.

L2 is write-validate: a sector written in full is valid at once, a sector written in part keeps a byte mask.
Only that distinction is kept, not which bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from hwmodels.coalescing import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, WARP_LANES
from hwmodels.rule import rule

__all__ = ["full_sectors", "lanes_in"]


@rule
def full_sectors(addresses: Sequence[int], mask: int, bytes_per_lane: int, line: int) -> int:
    """4-bit mask of the sectors of `line` (byte address // 128) whose 32 bytes are all written."""
    full = 0
    for sector in range(SECTORS_PER_LINE):
        start = line * LINE_BYTES + sector * SECTOR_BYTES
        written = 0
        for lane in range(WARP_LANES):
            if (mask >> lane) & 1:
                first = max(addresses[lane] - start, 0)
                last = min(addresses[lane] + bytes_per_lane - start, SECTOR_BYTES)
                if first < last:
                    written |= ((1 << (last - first)) - 1) << first
        if written == (1 << SECTOR_BYTES) - 1:
            full |= 1 << sector
    return full


@rule
def lanes_in(addresses: Sequence[int], mask: int, line: int) -> int:
    """Active lanes whose access starts in `line` (byte address // 128)."""
    count = 0
    for lane in range(WARP_LANES):
        if (mask >> lane) & 1 and addresses[lane] // LINE_BYTES == line:
            count += 1
    return count

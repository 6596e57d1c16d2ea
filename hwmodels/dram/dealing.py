"""Which sector of a memory partition's DRAM a sector of L2 is, and back: exactly reversible.

A memory partition holds a few L2 slices, whose lines interleave in its DRAM. `address_map.split` then deals
consecutive lines over the pseudo-channels, each whole, so that a line costs one row. Alone that would put
every second line of a slice on the same pseudo-channel; so the lines of a group of four change places by two
bits made of the group's number, and strides load all pseudo-channels alike. Vendors don't publish theirs.
"""

from hwmodels.coalescing import SECTORS_PER_LINE
from hwmodels.rule import rule
from hwmodels.scatter import scatter

__all__ = ["dealt_sector", "undealt_line", "undealt_sector"]


@rule
def dealt_sector(local_line: int, sector: int, slice_index: int, slices: int) -> int:
    """Sector number inside a memory partition of sector 0–3 of a line of slice `slice_index`."""
    line = local_line * slices + slice_index
    return (line ^ (scatter(line >> 2) & 3)) * SECTORS_PER_LINE + sector


@rule
def undealt_line(dealt: int) -> int:
    """The line's number inside its memory partition: local line × slices + slice index."""
    line = dealt // SECTORS_PER_LINE
    return line ^ (scatter(line >> 2) & 3)


@rule
def undealt_sector(dealt: int) -> int:
    """The sector (0–3) of the line."""
    return dealt % SECTORS_PER_LINE

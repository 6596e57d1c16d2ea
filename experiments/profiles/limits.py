"""How large a profile may be before it is refused. Profiles come from strangers, so each count has a bound.

The defaults hold every trace that the profilers' own viewers open; a caller may pass others.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProfileLimits:
    """Bounds on what is read. Sizes are in bytes or characters after decompression."""

    total_bytes: int = 4 << 30
    packed_ratio: int = 200
    """Most bytes that one compressed byte may become, once `packed_ratio_from` bytes have come out."""
    packed_ratio_from: int = 16 << 20
    value_characters: int = 4 << 20
    """One event, or one entry of the header."""
    depth: int = 64
    events: int = 20_000_000
    kernels: int = 500_000
    operators: int = 2_000_000
    rows: int = 1_000_000
    """Rows of a table."""
    cells: int = 20_000
    """Cells of a row."""
    cell_characters: int = 100_000


DEFAULT_LIMITS = ProfileLimits()

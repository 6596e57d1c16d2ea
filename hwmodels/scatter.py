"""The integer hash under the model's stand-ins for unpublished hardware hashes (L2 slices, cache sets).

Vendors keep theirs secret; what silicon shows is that no stride camps on a few slices or sets. Three rounds
of XOR-shift and multiplication on 31 bits do that. It is no claim about the bits of the real one.
"""

from hwmodels.rule import rule

__all__ = ["scatter"]

MASK_31 = (1 << 31) - 1


@rule
def scatter(value: int) -> int:
    """Hash of a non-negative integer below 2**48, to 31 bits.

    Both factors of each product are below 2**31, so none overflows int64.
    """
    mixed = (value ^ (value >> 31) * 0x2F0B) & MASK_31
    mixed = ((mixed ^ (mixed >> 16)) * 0x3C6EF373 + 0x1B873593) & MASK_31
    mixed = ((mixed ^ (mixed >> 13)) * 0x2545F491) & MASK_31
    return mixed ^ (mixed >> 15)

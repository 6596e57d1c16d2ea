"""Set lookup of the caches: the set of a line, for any number of sets, and the way in which a tag stands.

The L1 of a card seldom has a power of two of sets, since the carve-out is taken from it. Vendors don't
publish the index hash; this one is a stand-in under which a contiguous footprint fills all sets evenly and
every other stride spreads as by chance. The whole line number serves as tag. Which way gives room on a miss
is in `replacement.py`; sectors and dirty bytes are state of the component. For L2, index with the line local
to its slice (`slice_hash.local_line`), or sets fill by chance.
"""

from collections.abc import Sequence

from hwmodels.replacement import lru_way
from hwmodels.rule import rule
from hwmodels.scatter import scatter

__all__ = ["find_way", "lru_way", "set_of"]


@rule
def set_of(line: int, sets: int) -> int:
    """Set of a line, 0 to sets - 1.

    The line's position in its block of `sets` lines, turned by a hash of the block's number. A linear XOR
    fold would spread power-of-two strides more evenly where the sets are a power of two, but has strides that
    all fall on one set, and fails on other set counts.
    """
    return (line + scatter(line // sets)) % sets


@rule
def find_way(tags: Sequence[int], tag: int, start: int, ways: int) -> int:
    """Way (0 to ways - 1) of the set at `tags[start : start + ways]` that holds `tag`, or -1."""
    for way in range(ways):
        if tags[start + way] == tag:
            return way
    return -1

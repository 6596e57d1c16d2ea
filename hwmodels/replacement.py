"""Replacement in one set of a cache: which way gives room, decided from integer stamps alone.

A stamp renewed at each use makes it least recently used, a stamp set once at the fill makes it first in,
first out. An empty way has a stamp below all others, so it goes first. Ties go to the lowest way, hence
nothing depends on the time of a call. What silicon does is unpublished; measured plateaus of A100 agree with
LRU, a little sharper than silicon.
"""

from collections.abc import Sequence

from hwmodels.rule import rule

__all__ = ["free_lru_way", "lru_way"]


@rule
def lru_way(stamps: Sequence[int], start: int, ways: int) -> int:
    """Way (0 to ways - 1) with the lowest stamp of `stamps[start : start + ways]`."""
    best = 0
    for way in range(1, ways):
        if stamps[start + way] < stamps[start + best]:
            best = way
    return best


@rule
def free_lru_way(stamps: Sequence[int], pinned: int, start: int, ways: int) -> int:
    """The same among ways whose bit in `pinned` is 0, or -1: a way awaiting its fill can't be evicted."""
    best = -1
    for way in range(ways):
        if (pinned >> way) & 1 == 0 and (best < 0 or stamps[start + way] < stamps[start + best]):
            best = way
    return best

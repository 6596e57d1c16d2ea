"""What L2 writes back together: the dirty lines of a slice that share rows of DRAM.

A row that is opened for one line is open for its neighbours too. So a cache that knows DRAM's rows writes
those back with an evicted line and keeps them, clean: behind the write queue its dirty lines are a second
one, deep enough to gather what threads wrote at different times. Published as the virtual write queue
(Stuecheli and others, ISCA 2010); a patent on NVIDIA's L2 sorts dirty lines by bank and page and cleans
them a page at a time (US 8,341,358). Lines in recent use are left alone: they may be written again.
"""

from hwmodels.rule import rule

__all__ = ["first_of_group", "is_cold"]


@rule
def first_of_group(local_line: int, lines: int) -> int:
    """The first of the `lines` lines of a slice that are written back together with a line."""
    return local_line - local_line % lines


@rule
def is_cold(use: int, stamp: int, lines: int) -> int:
    """1 for a line that the latest uses of its slice, as many as it has lines, did not touch.

    Giving a line its way counts as a use too, so of new lines these are half of the slice.
    """
    return 1 if use - stamp >= lines else 0

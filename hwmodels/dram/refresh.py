"""The decisions of refresh: when the next one falls due and which bank takes it.

A round refreshes every bank once, in any order, so that work already queued decides the order inside a
round. The interval between one-bank refreshes is a round's time over the banks. Which rows a refresh covers
is not modelled, nor temperature-dependent rates. Rules only: the channel of each engine keeps the clocks.
"""

from collections.abc import Sequence

from hwmodels.rule import rule


@rule
def first_due(interval: int, index: int, count: int) -> int:
    """Clock of the first one-bank refresh of pseudo-channel `index` of `count`, spread over an interval."""
    return interval + index * interval // count


@rule
def refresh_bank(
    present: Sequence[int], other: Sequence[int], open_rows: Sequence[int], left: int, banks: int, forced: int
) -> int:
    """The bank of this round (bit mask `left`) to refresh next; -1 while none is fit and it may still wait.

    `present` and `other` count the queued requests of each bank in the present and the other direction,
    `open_rows` holds the open row or -1. A bank without work in the present direction is fit, any bank if
    `forced` is 1; the least work goes first, then a closed bank, then the lowest number.
    """
    best = -1
    for bank in range(banks):
        if (left >> bank) & 1 == 1 and (present[bank] == 0 or forced == 1):
            if best < 0:
                best = bank
            elif present[bank] != present[best]:
                if present[bank] < present[best]:
                    best = bank
            elif other[bank] != other[best]:
                if other[bank] < other[best]:
                    best = bank
            elif open_rows[bank] < 0 <= open_rows[best]:
                best = bank
    return best

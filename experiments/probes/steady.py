"""The steady rate of a run: bytes over time in the middle of its traffic.

The start (empty caches, all warps in step) and the end (fewer and fewer warps) are cut off by traffic, not by
time: published runs of gigabytes have neither.
"""

from collections.abc import Iterable

from simulator.statistics.result import Result

FIRST, LAST = 0.3, 0.9
"""Shares of the traffic between which the rate is taken."""


def steady_bytes_per_second(result: Result, columns: Iterable[str]) -> float:
    """Bytes a second of these columns of the intervals table, summed over kernels and columns."""
    table = result.intervals
    starts = table.groupby("start_cycle")[list(columns)].sum().sum(axis=1)
    ends = table.groupby("start_cycle")["end_cycle"].max()
    reached = starts.cumsum() / starts.sum()
    inside = (reached >= FIRST) & (reached <= LAST)
    # The first interval inside began before its share was reached: it only marks the start of the window.
    volume = starts[inside].iloc[1:].sum()
    first, last = ends[inside].iloc[0], ends[inside].iloc[-1]
    return float(volume) / (int(last - first) * result.record.sm_period_fs * 1e-15)

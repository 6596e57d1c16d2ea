"""Snapshots of a component's counters at the edges of equal intervals, for plots over time.

An edge splits time into "before" and "from then on": the first tick at or after an edge stores what was
counted before it. A component that sleeps over several edges stores them all when it wakes, since nothing
changed in between. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from simulator.machine.order import NEVER

Counts = list[list[int]]
"""One list of counters for each kernel."""


class IntervalLog:
    """The snapshots of one component; a period of 0 switches it off."""

    def __init__(self, period_fs: int) -> None:
        self.period_fs = period_fs
        self.next_edge_fs = period_fs or NEVER
        self.snapshots: list[tuple[int, Counts]] = []

    def advance(self, now_fs: int, counts: Counts) -> None:
        """Store the counters for every edge up to `now_fs` inclusive; call it before a tick changes them."""
        while self.next_edge_fs <= now_fs:
            self.snapshots.append((self.next_edge_fs, [list(kernel) for kernel in counts]))
            self.next_edge_fs += self.period_fs

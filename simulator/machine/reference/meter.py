"""Little's law at a queue: the mean number inside times the time equals the sum of the waits, counted in
two unconnected ways.

The occupancy integral grows at each change by what was inside before; the waits are summed from the time
stamps that the items themselves carry. Both are femtoseconds. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class QueueMeter:
    """Meter of one queue. When the queue is empty again, `area_fs == waits_fs`."""

    inside: int = 0
    changed_fs: int = 0
    area_fs: int = 0
    waits_fs: int = 0
    items: int = 0
    most: int = 0

    def enter(self, now_fs: int) -> None:
        """An item enters."""
        inside = self.inside
        self.area_fs += inside * (now_fs - self.changed_fs)
        self.changed_fs = now_fs
        inside += 1
        self.inside = inside
        self.most = max(self.most, inside)

    def leave(self, now_fs: int, entered_fs: int) -> None:
        """An item leaves that entered at `entered_fs`."""
        self.area_fs += self.inside * (now_fs - self.changed_fs)
        self.changed_fs = now_fs
        self.inside -= 1
        self.waits_fs += now_fs - entered_fs
        self.items += 1

    def balanced(self) -> bool:
        """Whether the queue is empty and Little's law holds to the last femtosecond."""
        return self.inside == 0 and self.area_fs == self.waits_fs

"""The tag array of L1: sets of lines with valid, pending and dirty sectors, LRU replacement, and what drops
it.

A new kernel finds L1 empty, as on cards, where L1 is not coherent; so does a new carve-out. Local memory that
is dirty then belongs to threads that are gone: it is dropped and counted. A line with sectors on their way
stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.cache import set_of
from hwmodels.coalescing import LINE_BYTES
from simulator.machine.state import Line
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

C_DIRTY_LEFT = INDEX["l1_dirty_left"]


class L1Tags:
    """Which sectors an SM's L1 holds."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        self.spec = sm.gpu.l1
        self.carveout_bytes = -1
        self.sets: list[list[Line]] = []
        self.lines: dict[int, Line] = {}
        self.stamp = 0
        self.seen: set[int] = set()
        """Kernels that have had a block on this SM."""

    def prepare(self, kernel: int, carveout_bytes: int) -> None:
        """Before a block of `kernel` starts: take the carve-out, and drop everything at a kernel's first
        block.
        """
        if kernel not in self.seen:
            self.seen.add(kernel)
            self.drop_all()
        if carveout_bytes != self.carveout_bytes:
            self.drop_all()
            self.carveout_bytes = carveout_bytes
            usable = self.spec.usable_kib(-(-carveout_bytes // 1024)) * 1024
            self.sets = [[] for _ in range(max(1, usable // (LINE_BYTES * self.spec.ways)))]

    def drop_all(self) -> None:
        """Forget all lines but those on their way; count the dirty sectors that are lost."""
        for lines in self.sets:
            kept = []
            for line in lines:
                if line.dirty:
                    self.sm.counts[line.kernel][C_DIRTY_LEFT] += line.dirty.bit_count()
                line.valid = line.dirty = 0
                if line.pending:
                    kept.append(line)
                else:
                    del self.lines[line.line]
            lines[:] = kept

    def touch(self, line: Line) -> None:
        """Make a line the most recently used."""
        self.stamp += 1
        line.stamp = self.stamp

    def victim(self, line: int) -> Line | None:
        """The line that has to go for `line` to find a place; itself unknown, None if its set has room.

        A set in which every line is on its way gives its first line, which is pending: it can't go now.
        """
        lines = self.sets[set_of(line, len(self.sets))]
        if len(lines) < self.spec.ways:
            return None
        idle = [one for one in lines if not one.pending]
        return min(idle, key=lambda one: one.stamp) if idle else lines[0]

    def remove(self, line: Line) -> None:
        """Take an idle line out."""
        self.sets[set_of(line.line, len(self.sets))].remove(line)
        del self.lines[line.line]

    def add(self, line: int, kernel: int) -> Line:
        """Give `line` a place in its set, which has room."""
        entry = self.lines[line] = Line(line, kernel=kernel)
        self.sets[set_of(line, len(self.sets))].append(entry)
        return entry

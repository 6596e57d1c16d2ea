"""The first level of address translation of an SM: a set of recently used pages, and what a page outside it
costs.

Fully associative and LRU; a miss adds a fixed latency to its request and does not hold up others. Page walks
behind the second level are not modelled.
"""

from __future__ import annotations

from hwmodels.coalescing import LINE_BYTES
from hwmodels.tlb import TlbSpec

MIB = 1 << 20


class Tlb:
    """One SM's first level; off (no cost) where the card gives no reach."""

    def __init__(self, spec: TlbSpec) -> None:
        self.entries = spec.reach_mib // spec.page_mib
        self.lines_per_page = spec.page_mib * MIB // LINE_BYTES
        self.miss_cycles = spec.miss_latency_cycles
        self.pages: dict[int, None] = {}
        """Least recently used first."""

    def extra_cycles(self, line: int) -> int:
        """Cycles that the translation of this line adds."""
        if not self.entries:
            return 0
        page = line // self.lines_per_page
        if page in self.pages:
            del self.pages[page]
            self.pages[page] = None
            return 0
        if len(self.pages) >= self.entries:
            del self.pages[next(iter(self.pages))]
        self.pages[page] = None
        return self.miss_cycles

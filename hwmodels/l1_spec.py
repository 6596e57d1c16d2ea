"""The L1 data cache of an SM: the array that it shares with shared memory, tags, misses in flight.

Part of the array never serves as L1 on real cards (`unusable_kib`, from the edges of pointer chases); why
is not known. The data path is as wide as the lanes that it takes at once: on GA102 and AD102 sixteen lanes of
four bytes a cycle, so a load takes two cycles or as many as its bank conflicts ask for, whichever is more
(measured at all strides on an A40). The texture path and its filtering are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number


@dataclass(frozen=True, slots=True)
class L1Spec:
    """L1 of one SM: lines of four sectors, four tag banks beside the data banks of shared memory."""

    size_kib: int = number(unit="KiB", low=8, high=4096, doc="Unified array: L1 and shared memory together.")
    unusable_kib: int = number(unit="KiB", low=0, high=2048, doc="Part of the array that never serves as L1.")
    line_bytes: int = number(unit="bytes", low=128, high=128, doc="Line; coalescing is written for 128.")
    sector_bytes: int = number(unit="bytes", low=32, high=32, doc="Sector; coalescing is written for 32.")
    ways: int = number(unit="ways", low=1, high=512, doc="Associativity.")
    tag_banks: int = number(
        unit="banks", low=1, high=32, doc="Tag banks, a power of two, by folded line address."
    )
    tag_latency_cycles: int = number(unit="SM cycles", low=1, high=200, doc="Tag stage and select.")
    bytes_per_cycle: int = number(
        unit="bytes an SM cycle",
        low=32,
        high=1024,
        doc="Data path: lanes of 4 bytes that it takes in a cycle.",
    )
    mshr_entries: int = number(unit="lines", low=1, high=4096, doc="Lines that may be outstanding.")
    mshr_merges: int = number(unit="requests", low=1, high=4096, doc="Requests that may wait on one line.")
    miss_latency_cycles: int = number(
        unit="SM cycles", low=1, high=200, doc="From a miss to the packet at the port."
    )
    fill_latency_cycles: int = number(
        unit="SM cycles", low=1, high=200, doc="From the reply's arrival to the data."
    )

    def usable_kib(self, carveout_kib: int) -> int:
        """L1 that is left beside a carve-out; the unusable part overlaps with small carve-outs."""
        return self.size_kib - max(carveout_kib, self.unusable_kib)

"""Where a packet goes: the home slice of its line, the slice that an SM asks first, and the distance on
the die.

An SM belongs to one L2 partition (SMs are dealt evenly). A read goes to the slice of the SM's own partition
that has the same index as the home slice; writes, atomics and reductions go to the home itself. The hash
and the distance are rules of `hwmodels`.
"""

from __future__ import annotations

from hwmodels.crossbar import distance_cycles
from hwmodels.gpu import Gpu
from hwmodels.slice_hash import home_of
from simulator.machine.messages import READ, Packet


class Routing:
    """Routes of one card; holds tables only, no state."""

    def __init__(self, gpu: Gpu) -> None:
        self.slices = gpu.l2.slices
        self.partitions = gpu.l2.partitions
        self.share = gpu.slices_per_partition
        self.spread = gpu.crossbar.spread_cycles
        count = gpu.sm_count
        self.partition_of_sm = [sm * self.partitions // count for sm in range(count)]
        self._members = [self.partition_of_sm.count(part) for part in range(self.partitions)]
        self._rank = [sm - self.partition_of_sm.index(part) for sm, part in enumerate(self.partition_of_sm)]
        self._distances: list[list[int] | None] = [None] * count

    def partition_of_slice(self, slice_id: int) -> int:
        return slice_id // self.share

    def crosses(self, sm: int, slice_id: int) -> bool:
        """Whether an SM and a slice lie in different partitions."""
        return self.partitions > 1 and self.partition_of_sm[sm] != slice_id // self.share

    def route(self, packet: Packet) -> None:
        """Set the slice of a request, and the slice of its SM's partition that has the same index."""
        home = home_of(packet.line, self.slices, self.partitions)
        packet.slice = packet.near = home
        if self.partitions > 1:
            packet.near = self.partition_of_sm[packet.sm] * self.share + home % self.share
            if packet.operation == READ:
                packet.slice = packet.near

    def distance(self, sm: int, slice_id: int) -> int:
        """Cycles beyond the nearest pair; a slice across the link counts as its peer on this side."""
        row = self._distances[sm]
        if row is None:
            rank, members = self._rank[sm], self._members[self.partition_of_sm[sm]]
            row = [distance_cycles(rank, s, members, self.share, self.spread) for s in range(self.share)]
            self._distances[sm] = row
        return row[slice_id % self.share]

"""The link between the two L2 partitions: for each direction a server of finite bandwidth; the latency is
its owner's.

Only data takes bandwidth; requests and invalidations without data never come here. Several packets may
start in one cycle, so the server counts in cycles × bytes a cycle, all integers. Packets start in the order
of the cycle from which they may. The link holds what the MSHRs and credits at its ends allow, so it needs
no bound of its own.
"""

from __future__ import annotations

from heapq import heappop, heappush

from hwmodels.gpu import Gpu
from simulator.machine.messages import Packet
from simulator.machine.order import NEVER
from simulator.machine.state_crossbar import CrossingState


class PartitionLink:
    """Both directions of the link, named by the partition that a packet leaves."""

    def __init__(self, gpu: Gpu) -> None:
        self.width_bytes = gpu.crossbar.partition_link_bytes_per_cycle
        self.state = CrossingState()

    @property
    def busy(self) -> bool:
        """Whether a packet waits."""
        return bool(self.state.waiting[0] or self.state.waiting[1])

    def add(self, leaves: int, cycle: int, kind: int, packet: Packet) -> None:
        """A packet that may start at `cycle`."""
        self.state.number += 1
        heappush(self.state.waiting[leaves], (cycle, self.state.number, kind, packet))

    def depart(self, cycle: int) -> list[tuple[int, Packet]]:
        """Packets that start in this cycle, each with its kind of message."""
        state, width = self.state, self.width_bytes
        started = []
        for leaves, waiting in enumerate(state.waiting):
            while waiting and waiting[0][0] <= cycle and state.free[leaves] < (cycle + 1) * width:
                _, _, kind, packet = heappop(waiting)
                state.free[leaves] = max(state.free[leaves], cycle * width) + packet.payload_bytes
                started.append((kind, packet))
        return started

    def next_cycle(self, cycle: int) -> int:
        """The next cycle in which a packet can start."""
        following = NEVER
        for leaves, waiting in enumerate(self.state.waiting):
            if waiting:
                following = min(
                    following, max(waiting[0][0], self.state.free[leaves] // self.width_bytes, cycle + 1)
                )
        return following

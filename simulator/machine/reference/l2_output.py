"""The way out of an L2 slice: the end of its pipeline, the reply port, and acknowledgements.

A reply leaves the pipeline at a known cycle and then takes the port, one packet a cycle and
`slice_bytes_per_cycle`, in order of age. Replies to SMs need a credit of the crossbar's FIFO; those to the
other partition have a place reserved in its MSHR and pass them when credits are out. Acknowledgements are a
side band with the same latency: they take neither port nor credit. The latency of the pipeline is the
card's `l2.access_latency_cycles`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from simulator.machine.messages import ACK, LINK_REPLY, REPLY, Packet
from simulator.machine.order import NEVER
from simulator.machine.state_l2 import SliceState
from simulator.statistics.phases import L2, PARTITION_LINK

if TYPE_CHECKING:
    from simulator.machine.reference.partition import MemoryPartition


class Output:
    """Outgoing side of one slice."""

    def __init__(self, owner: MemoryPartition, state: SliceState) -> None:
        self.owner = owner
        self.state = state
        self.period_fs = owner.period_fs
        self.links = owner.links
        self.port_bytes = owner.gpu.l2.slice_bytes_per_cycle
        # What may wait for credits before look-ups of SM requests stop; the pipeline behind drains into it.
        self.limit = owner.gpu.crossbar.reply_fifo_packets

    @property
    def full(self) -> bool:
        """Whether so many replies wait that no request may be looked up that adds to them."""
        return len(self.state.replies) >= self.limit

    def leave(self, packet: Packet, cycle: int, crosses: bool) -> None:
        """Let a reply out of the pipeline at `cycle`."""
        state = self.state
        packet.mark(PARTITION_LINK if crosses else L2, cycle * self.period_fs)
        state.number += 1
        heappush(state.leaving, (cycle, state.number, crosses, packet))
        state.due = min(state.due, cycle)

    def acknowledge(self, packet: Packet, cycle: int, now_fs: int) -> None:
        """Send the acknowledgement that leaves the pipeline at `cycle`; the message includes that wait."""
        leave_fs = cycle * self.period_fs
        delay = leave_fs - now_fs + self.links.slice_to_crossbar_fs
        packet.mark(L2, leave_fs)
        if self.owner.routing.crosses(packet.sm, packet.slice):
            crossing_fs = self.links.crossing_cycles * self.period_fs
            delay += crossing_fs
            packet.mark(PARTITION_LINK, leave_fs + crossing_fs)
        packet.payload_bytes = 0
        self.owner.send(self.owner.crossbar, now_fs, delay, ACK, packet)

    def may_send(self) -> bool:
        """Whether the oldest reply to an SM has a credit."""
        state = self.state
        if not state.replies:
            return False
        packet = state.replies[0][1]
        return state.reply_credits[self.owner.routing.crosses(packet.sm, packet.slice)] > 0

    def step(self, cycle: int, now_fs: int) -> bool:
        """Move what is due; whether a reply to an SM has left, so that look-ups may go on."""
        state = self.state
        leaving = state.leaving
        while leaving and leaving[0][0] <= cycle:
            _, number, crosses, packet = heappop(leaving)
            (state.crossing_replies if crosses else state.replies).append((number, packet))
        if state.out_free > cycle:
            return False
        replies, crossing = state.replies, state.crossing_replies
        if self.may_send() and not (crossing and crossing[0][0] < replies[0][0]):
            packet = replies.popleft()[1]
            state.reply_credits[self.owner.routing.crosses(packet.sm, packet.slice)] -= 1
            self._send(packet, cycle, now_fs, self.links.slice_to_crossbar_fs, REPLY)
            return True
        if crossing:
            self._send(crossing.popleft()[1], cycle, now_fs, self.links.crossing_in_fs, LINK_REPLY)
        return False

    def _send(self, packet: Packet, cycle: int, now_fs: int, delay_fs: int, kind: int) -> None:
        self.state.out_free = cycle + max(1, -(-packet.payload_bytes // self.port_bytes))
        self.owner.send(self.owner.crossbar, now_fs, delay_fs, kind, packet)

    def next_cycle(self, cycle: int) -> int:
        """The next cycle at which something can leave the pipeline or the port."""
        state = self.state
        following = state.leaving[0][0] if state.leaving else NEVER
        if state.crossing_replies or self.may_send():
            following = min(following, max(cycle + 1, state.out_free))
        return following

"""The crossbar between SMs and L2 slices: one component with a request network, a reply network and the
partition link.

A tick consumes what has arrived, lets packets onto the partition link, arbitrates requests, then replies.
Unloaded times, in L2 cycles, from sending to arrival: a request takes `request_latency_cycles + distance −
spread_cycles // 2`, where the distance of the pair is 0 to `spread_cycles`; a reply or an acknowledgement
takes `reply_latency_cycles`; what crosses the partition link takes `partition_link_latency_cycles` more
each way. Arbitration and ports cost no cycle by themselves, only what a port still owes to the packet
before. The hierarchy of GPCs and TPCs is not modelled. Numbers come from the card's `crossbar` section.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop

from hwmodels.gpu import Gpu
from simulator.machine.links import link_delays
from simulator.machine.messages import (
    ACK,
    LINK_INVALIDATE,
    LINK_REPLY,
    LINK_REQUEST,
    REPLY,
    REPLY_CREDIT,
    REQUEST,
    SLICE_CREDIT,
    SM_CREDIT,
)
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.reference.crossbar_replies import ReplyNetwork
from simulator.machine.reference.crossbar_requests import RequestNetwork
from simulator.machine.reference.intervals import IntervalLog
from simulator.machine.reference.partition_link import PartitionLink
from simulator.machine.reference.routing import Routing
from simulator.statistics.phases import CROSSBAR_REPLY, CROSSBAR_REQUEST, PARTITION_LINK
from simulator.statistics.schema import COUNTERS, INDEX

C_LINK_BYTES = INDEX["link_bytes"]


class Crossbar(Component):
    """The crossbar of a card. `connect` gives it its SMs, by index, and its memory partitions, by index."""

    def __init__(
        self, clockwork: Clockwork, ident: int, gpu: Gpu, kernels_count: int, interval_fs: int = 0
    ) -> None:
        super().__init__(clockwork, ident, gpu.l2_period_fs, "crossbar")
        self.gpu = gpu
        self.counts = [[0] * len(COUNTERS) for _ in range(kernels_count)]
        self.intervals = IntervalLog(interval_fs)
        self.links = link_delays(gpu)
        self.routing = Routing(gpu)
        self.requests = RequestNetwork(gpu, self.routing)
        self.replies = ReplyNetwork(gpu, self.links.reply_credits + self.links.crossed_credits)
        self.crossing = PartitionLink(gpu)
        self.sms: list[Component] = []
        self.slice_owners: list[Component] = []

    def connect(self, sms: Sequence[Component], partitions: Sequence[Component]) -> None:
        """Give it the components at the ends of its links."""
        self.sms = list(sms)
        share = self.gpu.slices_per_memory_partition
        self.slice_owners = [partitions[index // share] for index in range(self.gpu.l2.slices)]

    def tick(self, now_fs: int) -> int:
        if now_fs >= self.intervals.next_edge_fs:
            self.intervals.advance(now_fs, self.counts)
        period = self.period_fs
        cycle = now_fs // period
        self._consume(now_fs, cycle)
        following = NEVER
        if self.crossing.busy:
            following = self._cross(now_fs, cycle)
        if self.requests.state.due:
            self._forward_requests(now_fs, cycle)
            if self.requests.state.due:
                following = min(following, self.requests.state.due[0][0])
        if self.replies.busy:
            self._forward_replies(now_fs, cycle)
            following = min(following, self.replies.next_cycle(cycle))
        return following * period if following < NEVER else NEVER

    def _consume(self, now_fs: int, cycle: int) -> None:
        inbox = self.inbox
        links = self.links
        while inbox and inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heappop(inbox)
            if kind == REQUEST:
                start = self.requests.accept(payload, cycle)
                if self.routing.crosses(payload.sm, payload.slice):
                    self.crossing.add(self.routing.partition_of_sm[payload.sm], start, kind, payload)
                    payload.mark(CROSSBAR_REQUEST, start * self.period_fs)
                else:
                    self.requests.queue(payload, start, cycle, now_fs)
            elif kind == REPLY:
                if self.routing.crosses(payload.sm, payload.slice):
                    self.crossing.add(self.routing.partition_of_slice(payload.slice), cycle, kind, payload)
                    payload.mark(CROSSBAR_REPLY, now_fs)
                else:
                    self.replies.append(payload, now_fs)
            elif kind == ACK:
                self.send(self.sms[payload.sm], now_fs, links.crossbar_to_sm_fs, ACK, payload)
            elif kind == SLICE_CREDIT:
                self.requests.credit(payload[0], payload[1], cycle)
            elif kind == LINK_REQUEST:
                self.send(self.slice_owners[payload.slice], now_fs, links.crossing_out_fs, kind, payload)
            elif kind == LINK_INVALIDATE:
                self.send(self.slice_owners[payload.near], now_fs, links.crossing_out_fs, kind, payload)
            else:
                self.crossing.add(self.routing.partition_of_slice(payload.slice), cycle, kind, payload)

    def _cross(self, now_fs: int, cycle: int) -> int:
        """Let packets onto the partition link; the cycle of its next work."""
        latency = self.links.crossing_cycles
        for kind, packet in self.crossing.depart(cycle):
            self.counts[packet.kernel][C_LINK_BYTES] += packet.payload_bytes
            if kind == LINK_REPLY:
                # Its two messages carry the latency of the crossing.
                owner = self.slice_owners[packet.near]
                self.send(owner, now_fs, self.links.crossing_out_fs, kind, packet)
                continue
            arrival = cycle + latency
            packet.mark(PARTITION_LINK, arrival * self.period_fs)
            if kind == REQUEST:
                self.requests.queue(packet, arrival, cycle, now_fs)
            else:
                self.replies.append_late(packet, arrival)
        return self.crossing.next_cycle(cycle)

    def _forward_requests(self, now_fs: int, cycle: int) -> None:
        returned: dict[int, int] = {}
        delay = self.links.crossbar_to_slice_fs
        for packet in self.requests.arbitrate(cycle, now_fs):
            self.send(self.slice_owners[packet.slice], now_fs, delay, REQUEST, packet)
            returned[packet.sm] = returned.get(packet.sm, 0) + 1
        for sm in sorted(returned):
            self.send(self.sms[sm], now_fs, self.links.crossbar_to_sm_fs, SM_CREDIT, returned[sm])

    def _forward_replies(self, now_fs: int, cycle: int) -> None:
        links = self.links
        for packet in self.replies.arbitrate(cycle, now_fs):
            self.send(self.sms[packet.sm], now_fs, links.crossbar_to_sm_fs, REPLY, packet)
            owner = self.slice_owners[packet.slice]
            credit = (packet.slice, self.routing.crosses(packet.sm, packet.slice), 1)
            self.send(owner, now_fs, links.slice_to_crossbar_fs, REPLY_CREDIT, credit)

    def waits_for(self) -> list[str]:
        """Packets that stand in the crossbar, and the resource that each queue waits for."""
        lines = []
        for index, queue in enumerate(self.requests.state.queues):
            if queue:
                cause = "a turn" if self.requests.state.credits[index] else "a place in its input queue"
                lines.append(f"crossbar: {len(queue)} requests for slice {index} wait for {cause}")
        for index, fifo in enumerate(self.replies.state.fifos):
            if fifo:
                lines.append(
                    f"crossbar: {len(fifo)} replies of slice {index} wait for the port of SM {fifo[0][1].sm}"
                )
        waiting = sum(len(entries) for entries in self.crossing.state.waiting)
        if waiting:
            lines.append(f"crossbar: {waiting} packets wait for the partition link")
        return lines

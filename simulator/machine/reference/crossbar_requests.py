"""The request network of the crossbar: the in-ports of the SMs, a virtual output queue for each slice, the
slices' ports.

An SM's port passes one packet a cycle and `request_bytes_per_cycle` of data. A packet then waits in the
queue of its slice, ordered by the cycle from which it may go (its distance counts as delay) and by arrival.
A slice's port takes one packet a cycle and `slice_request_bytes_per_cycle` of data, and only against a
credit, which stands for a place in the slice's input queue. Queues hold at most what the SMs' credits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from hwmodels.gpu import Gpu
from simulator.machine.messages import Packet
from simulator.machine.order import NEVER
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.reference.routing import Routing
from simulator.machine.state_crossbar import RequestState


class RequestNetwork:
    """Request side; the owner sends what `arbitrate` yields."""

    def __init__(self, gpu: Gpu, routing: Routing) -> None:
        slices = gpu.l2.slices
        self.routing = routing
        self.port_bytes = gpu.crossbar.request_bytes_per_cycle
        self.slice_bytes = gpu.l2.slice_request_bytes_per_cycle
        self.state = RequestState(
            port_free=[0] * gpu.sm_count,
            queues=[[] for _ in range(slices)],
            credits=[gpu.l2.queue_depth] * slices,
            slice_free=[0] * slices,
            armed=[NEVER] * slices,
        )
        self.meter = QueueMeter()

    def accept(self, packet: Packet, cycle: int) -> int:
        """Route a packet and pass it through its SM's port; the cycle in which it passes.

        The port is first come, first served, so the time is known on arrival.
        """
        self.routing.route(packet)
        free = self.state.port_free
        start = max(cycle, free[packet.sm])
        free[packet.sm] = start + max(1, -(-packet.payload_bytes // self.port_bytes))
        return start

    def queue(self, packet: Packet, start: int, cycle: int, now_fs: int) -> None:
        """Put a packet that is through its port (and the link) at cycle `start` in line for its slice."""
        state = self.state
        state.number += 1
        ready = start + self.routing.distance(packet.sm, packet.slice)
        heappush(state.queues[packet.slice], (ready, state.number, now_fs, packet))
        self.meter.enter(now_fs)
        self._arm(packet.slice, cycle)

    def credit(self, slice_id: int, count: int, cycle: int) -> None:
        """Places that a slice's input queue has given back."""
        self.state.credits[slice_id] += count
        self._arm(slice_id, cycle)

    def _arm(self, slice_id: int, cycle: int) -> None:
        """Note when the slice may take its next packet, unless an earlier time is noted."""
        state = self.state
        queue = state.queues[slice_id]
        if not queue or not state.credits[slice_id]:
            return
        time = max(queue[0][0], state.slice_free[slice_id], cycle)
        if time < state.armed[slice_id]:
            state.armed[slice_id] = time
            heappush(state.due, (time, slice_id))

    def arbitrate(self, cycle: int, now_fs: int) -> Iterator[Packet]:
        """Packets that leave for their slices in this cycle, by slice."""
        state = self.state
        due = state.due
        while due and due[0][0] <= cycle:
            time, slice_id = heappop(due)
            if state.armed[slice_id] != time:
                continue
            state.armed[slice_id] = NEVER
            _, _, entered_fs, packet = heappop(state.queues[slice_id])
            self.meter.leave(now_fs, entered_fs)
            state.credits[slice_id] -= 1
            state.slice_free[slice_id] = cycle + max(1, -(-packet.payload_bytes // self.slice_bytes))
            self._arm(slice_id, cycle)
            yield packet

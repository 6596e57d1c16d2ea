"""The reply network of the crossbar: a FIFO for each slice, of which only the oldest few packets may
leave, and the SMs' ports.

In each cycle every slice proposes the oldest packet of its window whose SM port is free, and each port
grants one slice by round robin; slices that lost propose the next of their window to the ports still free,
until the window is used up. A slice sends one packet a cycle; a port is busy for `payload /
reply_bytes_per_cycle`. The blocking that remains at the head of the FIFOs is what keeps L2 bandwidth at
77–89 % of its nominal value. A slice holds credits for the FIFO, so it never overflows.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from hwmodels.gpu import Gpu
from simulator.machine.messages import Packet
from simulator.machine.order import NEVER
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state_crossbar import ReplyState


class ReplyNetwork:
    """Reply side; the owner sends what `arbitrate` returns."""

    def __init__(self, gpu: Gpu, capacity: int) -> None:
        self.slices = gpu.l2.slices
        self.port_bytes = gpu.crossbar.reply_bytes_per_cycle
        self.lookahead = gpu.crossbar.reply_lookahead
        self.capacity = capacity
        self.state = ReplyState(
            fifos=[deque() for _ in range(self.slices)],
            sm_free=[0] * gpu.sm_count,
            turn=[0] * gpu.sm_count,
        )
        self.number = 0
        self.meter = QueueMeter()

    @property
    def busy(self) -> bool:
        """Whether any reply is inside."""
        return bool(self.state.active or self.state.late)

    def append(self, packet: Packet, now_fs: int) -> None:
        """A reply from its slice."""
        fifo = self.state.fifos[packet.slice]
        if len(fifo) >= self.capacity:
            raise OverflowError(f"reply FIFO of slice {packet.slice} holds {self.capacity} and got one more")
        fifo.append((now_fs, packet))
        self.state.active.add(packet.slice)
        self.meter.enter(now_fs)

    def append_late(self, packet: Packet, cycle: int) -> None:
        """A reply that leaves the partition link at `cycle` and then joins the FIFO of its slice."""
        self.number += 1
        heappush(self.state.late, (cycle, self.number, packet))

    def next_cycle(self, cycle: int) -> int:
        """The next cycle with work."""
        if self.state.active:
            return cycle + 1
        return self.state.late[0][0] if self.state.late else NEVER

    def arbitrate(self, cycle: int, now_fs: int) -> list[Packet]:
        """Packets that leave for their SMs in this cycle."""
        state = self.state
        late = state.late
        while late and late[0][0] <= cycle:
            self.append(heappop(late)[2], now_fs)
        fifos, sm_free, turn, slices = state.fifos, state.sm_free, state.turn, self.slices
        leaving: list[Packet] = []
        pending = [(slice_id, 0) for slice_id in sorted(state.active)]
        while pending:
            proposals: dict[int, tuple[int, int]] = {}
            lost: list[tuple[int, int]] = []
            for slice_id, place in pending:
                fifo = fifos[slice_id]
                window = min(self.lookahead, len(fifo))
                while place < window:
                    sm = fifo[place][1].sm
                    if sm_free[sm] <= cycle:
                        break
                    place += 1  # noqa: PLW2901 (the window moves on)
                else:
                    continue
                rival = proposals.get(sm)
                if rival is None:
                    proposals[sm] = (slice_id, place)
                elif (slice_id - turn[sm]) % slices < (rival[0] - turn[sm]) % slices:
                    proposals[sm] = (slice_id, place)
                    lost.append((rival[0], rival[1] + 1))
                else:
                    lost.append((slice_id, place + 1))
            for sm, (slice_id, place) in proposals.items():
                fifo = fifos[slice_id]
                entered_fs, packet = fifo[place]
                del fifo[place]
                if not fifo:
                    state.active.discard(slice_id)
                sm_free[sm] = cycle + max(1, -(-packet.payload_bytes // self.port_bytes))
                turn[sm] = (slice_id + 1) % slices
                self.meter.leave(now_fs, entered_fs)
                leaving.append(packet)
            pending = lost
        return leaving

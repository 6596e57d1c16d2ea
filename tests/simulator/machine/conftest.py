"""A bench for crossbar, L2 and DRAM: stand-ins for SMs send scripted packets and note what comes back."""

import heapq
from collections import deque

import pytest

from hwmodels.gpu import Gpu
from simulator.machine.links import lead
from simulator.machine.messages import ACK, REPLY, REQUEST, SM_CREDIT, Packet
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.reference.crossbar import Crossbar
from simulator.machine.reference.partition import MemoryPartition, preload
from simulator.statistics.phases import CROSSBAR_REPLY
from simulator.statistics.schema import INDEX


class ScriptedSm(Component):
    """Sends (cycle, packet) pairs in order, as credits allow, and keeps (arrival in fs, kind, packet)."""

    def __init__(self, clockwork, ident, gpu, index, script, links):
        super().__init__(clockwork, ident, gpu.l2_period_fs, f"SM {index}")
        self.script = deque(script)
        self.credits = gpu.crossbar.sm_credits
        self.links = links
        self.received = []
        if self.script:
            self.book(self.script[0][0] * self.period_fs)

    def tick(self, now_fs):
        while self.inbox and self.inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heapq.heappop(self.inbox)
            if kind == SM_CREDIT:
                self.credits += payload
            else:
                assert kind in {REPLY, ACK}
                payload.mark(CROSSBAR_REPLY, now_fs)
                self.received.append((now_fs, kind, payload))
        while self.script and self.credits and self.script[0][0] * self.period_fs <= now_fs:
            packet = self.script.popleft()[1]
            packet.last_fs = now_fs
            self.credits -= 1
            self.send(self.crossbar, now_fs, self.links.sm_to_crossbar_fs, REQUEST, packet)
        if self.script and self.credits:
            return self.script[0][0] * self.period_fs
        return NEVER


class MemoryBench:
    """A whole memory side under scripted SMs. `scripts` maps an SM's index to its (cycle, packet) pairs."""

    def __init__(
        self, gpu: Gpu, scripts, *, kernels=1, priority=None, reverse=False, interval_fs=0, window=None
    ):
        self.gpu = gpu
        self.period = gpu.l2_period_fs
        self.clockwork = Clockwork(window or lead(gpu).window_fs, priority)
        count = gpu.sm_count
        self.parts = {}

        def sm(index):
            return lambda: ScriptedSm(self.clockwork, 1 + index, gpu, index, [], None)

        def partition(index):
            return lambda: MemoryPartition(
                self.clockwork, count + 2 + index, gpu, kernels, index, interval_fs
            )

        makers = [(("sm", index), sm(index)) for index in range(count)]
        makers.append(("crossbar", lambda: Crossbar(self.clockwork, count + 1, gpu, kernels, interval_fs)))
        makers += [(("partition", index), partition(index)) for index in range(gpu.memory_partitions)]
        for name, make in reversed(makers) if reverse else makers:
            self.parts[name] = make()
        self.crossbar = self.parts["crossbar"]
        self.sms = [self.parts["sm", index] for index in range(count)]
        self.partitions = [self.parts["partition", index] for index in range(gpu.memory_partitions)]
        self.crossbar.connect(self.sms, self.partitions)
        for part in self.partitions:
            part.connect(self.crossbar)
        for part in self.sms:
            part.crossbar = self.crossbar
            part.links = self.crossbar.links
        for index, script in scripts.items():
            self.sms[index].script = deque(script)
            if script:
                self.sms[index].book(script[0][0] * self.period)

    def slice(self, ident):
        share = self.gpu.slices_per_memory_partition
        return self.partitions[ident // share].slices[ident % share]

    def preload(self, lines, sectors=15, dirty=False):
        preload(self.partitions, lines, sectors, dirty)

    def run(self):
        self.clockwork.run(NEVER)
        self.check_idle()
        for part in self.partitions:
            part.close(self.clockwork.now_fs)
        return self

    def check_idle(self):
        """Nothing waits, and Little's law holds at every queue."""
        waits = [line for part in (self.crossbar, *self.partitions) for line in part.waits_for()]
        assert not waits, waits
        assert all(not sm.script for sm in self.sms)
        meters = [self.crossbar.requests.meter, self.crossbar.replies.meter]
        for part in self.partitions:
            for one in part.slices:
                meters += [one.meter, one.crossing_meter, one.misses.meter]
                links = self.crossbar.links
                assert one.state.reply_credits == [links.reply_credits, links.crossed_credits]
                assert one.state.entries == [0, 0]
                assert not any(one.state.pinned)
        assert all(meter.balanced() for meter in meters)
        assert self.crossbar.requests.state.credits == [self.gpu.l2.queue_depth] * self.gpu.l2.slices
        assert all(sm.credits == self.gpu.crossbar.sm_credits for sm in self.sms)

    def total(self, name):
        """A counter, over kernels and components."""
        index = INDEX[name]
        return sum(counts[index] for part in (self.crossbar, *self.partitions) for counts in part.counts)

    def fingerprint(self):
        """Everything that came back, and all counters."""
        replies = [
            (sm.ident, time, kind, packet.token, packet.sectors, tuple(packet.phases))
            for sm in self.sms
            for time, kind, packet in sm.received
        ]
        counts = [part.counts for part in (self.crossbar, *self.partitions)]
        return replies, counts


@pytest.fixture(scope="session")
def bench_class():
    """The class of the bench, and a maker of packets."""
    return MemoryBench


@pytest.fixture(scope="session")
def packet_maker():
    """A maker of packets: make(operation, sm, line, sectors, token=...)."""

    def make(operation, sm, line, sectors=15, *, full=None, token=0, kernel=0, lanes=0, payload=None):
        if payload is None:
            payload = 0 if operation == 0 else 32 * sectors.bit_count()
        full = sectors if full is None and operation == 1 else full or 0
        return Packet(operation, sm, line, sectors, full, payload, kernel, token, lanes, 0)

    return make

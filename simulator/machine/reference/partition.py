"""A memory partition: some L2 slices and some DRAM channels in one component, with two clocks.

It ticks at edges of the L2 clock and of the memory clock; where both coincide, L2 goes first. An L2 edge
consumes messages, then takes what DRAM has returned, then lets each slice do a cycle; a memory edge moves
requests into the channels' queues and lets each channel issue its commands. Messages arrive on L2 edges
only. What is inside is in `l2.py`, `memory_front.py` and `dram.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop

from hwmodels.gpu import Gpu
from hwmodels.slice_hash import home_of
from simulator.machine.links import link_delays
from simulator.machine.messages import LINK_INVALIDATE, LINK_REPLY, LINK_REQUEST, REPLY_CREDIT, REQUEST
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.reference.intervals import IntervalLog
from simulator.machine.reference.l2 import Slice
from simulator.machine.reference.memory_front import MemoryFront
from simulator.machine.reference.routing import Routing
from simulator.statistics.schema import COUNTERS


class MemoryPartition(Component):
    """Memory partition `index` of a card. `connect` gives it the crossbar."""

    crossbar: Component

    def __init__(
        self, clockwork: Clockwork, ident: int, gpu: Gpu, kernels_count: int, index: int, interval_fs: int = 0
    ) -> None:
        super().__init__(clockwork, ident, gpu.l2_period_fs, f"memory partition {index}")
        self.gpu = gpu
        self.index = index
        self.counts = [[0] * len(COUNTERS) for _ in range(kernels_count)]
        self.intervals = IntervalLog(interval_fs)
        self.links = link_delays(gpu)
        self.routing = Routing(gpu)
        self.memory = MemoryFront(gpu, self.counts)
        share = gpu.slices_per_memory_partition
        self.first_slice = index * share
        self.slices = [Slice(self, place, self.first_slice + place) for place in range(share)]

    def connect(self, crossbar: Component) -> None:
        """Give it the component at the other end of its links."""
        self.crossbar = crossbar

    def tick(self, now_fs: int) -> int:
        if now_fs >= self.intervals.next_edge_fs:
            self.intervals.advance(now_fs, self.counts)
        period = self.period_fs
        memory = self.memory
        if now_fs % period == 0:
            self._tick_l2(now_fs, now_fs // period)
        if memory.due_fs <= now_fs and memory.tick(now_fs // memory.clock_fs):
            for part in self.slices:
                part.wake(now_fs // period + 1)
        cycle = memory.returned[0][0] if memory.returned else NEVER
        for part in self.slices:
            cycle = min(cycle, part.state.due)
        return min(memory.due_fs, cycle * period) if cycle < NEVER else memory.due_fs

    def _tick_l2(self, now_fs: int, cycle: int) -> None:
        inbox = self.inbox
        slices = self.slices
        first = self.first_slice
        while inbox and inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heappop(inbox)
            if kind == REQUEST:
                slices[payload.slice - first].arrive(payload, cycle, now_fs)
            elif kind == REPLY_CREDIT:
                slices[payload[0] - first].credit(payload[1], payload[2], cycle)
            elif kind == LINK_REQUEST:
                slices[payload.slice - first].arrive_crossing(payload, cycle, now_fs)
            elif kind == LINK_REPLY:
                slices[payload.near - first].misses.answered(payload, cycle, now_fs)
            elif kind == LINK_INVALIDATE:
                slices[payload.near - first].invalidate(payload)
        returned = self.memory.returned
        while returned and returned[0][0] <= cycle:
            fetch = heappop(returned)[3]
            slices[fetch.slice_index].misses.fetched(fetch, cycle, now_fs)
        for part in slices:
            if part.state.due <= cycle:
                part.step(cycle, now_fs)

    def close(self, now_fs: int) -> None:
        """The end of the run: count what is left dirty, let idle channels catch up with refreshes."""
        self.intervals.advance(now_fs, self.counts)
        for part in self.slices:
            part.count_dirty()
        for channel in self.memory.channels:
            channel.advance(now_fs // self.memory.clock_fs)

    def waits_for(self) -> list[str]:
        """What each slice and each channel waits for."""
        lines = [line for part in self.slices for line in part.waits_for()]
        return lines + [f"{self.name}: {line}" for line in self.memory.waits_for()]


def preload(
    partitions: Sequence[MemoryPartition],
    lines: Iterable[int],
    sectors: int = 15,
    dirty: bool = False,
    kernel: int = 0,
) -> None:
    """Put lines into L2 at their homes, as of time 0 without traffic; of too many the last stay."""
    gpu = partitions[0].gpu
    slices = [part for partition in partitions for part in partition.slices]
    for line in lines:
        slices[home_of(line, gpu.l2.slices, gpu.l2.partitions)].tags.preload(line, sectors, dirty, kernel)

"""An L2 slice: input queues, one look-up a cycle, a sectored write-back cache, atomics done in place.

A tick looks up the head of a queue, then lets replies out. Requests of SMs and of the slice of the other
partition have a queue each; the older head goes first, and when it must wait for a resource the other one
is tried, so neither class waits for the other. Data takes the port at `slice_bytes_per_cycle`. A hit leaves
`access_latency_cycles` after its look-up; a miss spends half of that before and half after its fetch. For a
request from the other partition, whose slice has spent its own latency, the look-up at home is part of the
crossing: a far hit takes exactly two crossings more than a near one. When a home line is evicted the home
forgets that the other partition had a copy; that copy may then be stale, which costs a few cycles of error
and no more. The operations are in `l2_reads.py`, `l2_writes.py`, `l2_atomics.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import ATOMIC, READ, REDUCE, SLICE_CREDIT, WRITE, Packet
from simulator.machine.order import NEVER
from simulator.machine.reference.l2_atomics import atomic
from simulator.machine.reference.l2_misses import Misses
from simulator.machine.reference.l2_output import Output
from simulator.machine.reference.l2_reads import read
from simulator.machine.reference.l2_tags import Tags
from simulator.machine.reference.l2_writes import write
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state_l2 import (
    FREE,
    NOTHING,
    OUTPUT,
    SECTOR_BYTES,
    STALL_TEXTS,
    InputQueue,
    make_slice,
)
from simulator.statistics.phases import CROSSBAR_REQUEST, PARTITION_LINK
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.partition import MemoryPartition

C_DIRTY_LEFT = INDEX["l2_dirty_left"]

SERVE = {READ: read, WRITE: write, ATOMIC: atomic, REDUCE: atomic}
"""By operation: do the look-up of a head unless something lacks; the cause in its queue then says what."""


class Slice:
    """Slice `index` of a memory partition, `ident` of the card."""

    def __init__(self, partition: MemoryPartition, index: int, ident: int) -> None:
        gpu = partition.gpu
        self.partition = partition
        self.index = index
        self.ident = ident
        sets = gpu.l2.size_kib * 1024 // (gpu.l2.slices * gpu.line_bytes * gpu.l2.ways)
        self.state = make_slice(
            sets, gpu.l2.ways, [partition.links.reply_credits, partition.links.crossed_credits]
        )
        self.tags = Tags(gpu, self.state)
        self.output = Output(partition, self.state)
        self.misses = Misses(self, self.state)
        self.meter = QueueMeter()
        self.crossing_meter = QueueMeter()
        self.depth = gpu.l2.queue_depth
        self.write_back_lines = gpu.l2.write_back_lines
        self.access_cycles = gpu.l2.access_latency_cycles
        self.port_bytes = gpu.l2.slice_bytes_per_cycle
        self.atomic_tenths = gpu.l2.atomic_interval_tenths
        width = gpu.crossbar.packet_bytes // SECTOR_BYTES
        self.groups = [((1 << width) - 1) << first & 15 for first in range(0, 4, width)]
        """Sectors that share a reply packet."""

    # -- arrivals ------------------------------------------------------------------------------------------

    def arrive(self, packet: Packet, cycle: int, now_fs: int) -> None:
        """A request of an SM."""
        packet.mark(CROSSBAR_REQUEST, now_fs)
        state = self.state
        if len(state.requests.items) >= self.depth:
            raise OverflowError(f"input queue of slice {self.ident} holds {self.depth} and got one more")
        state.requests.items.append((now_fs, packet))
        self.meter.enter(now_fs)
        state.due = min(state.due, cycle)

    def arrive_crossing(self, packet: Packet, cycle: int, now_fs: int) -> None:
        """A request of the other partition; its MSHR there bounds how many there can be."""
        packet.mark(PARTITION_LINK, now_fs)
        self.state.crossings.items.append((now_fs, packet))
        self.crossing_meter.enter(now_fs)
        self.state.due = min(self.state.due, cycle)

    def credit(self, crossed: bool, count: int, cycle: int) -> None:
        """Places in the crossbar's reply FIFO."""
        self.state.reply_credits[crossed] += count
        if self.state.replies:
            self.state.due = min(self.state.due, cycle)

    def invalidate(self, packet: Packet) -> None:
        """Drop copies of sectors that were written at their home."""
        state = self.state
        slot = state.slot_of.get(packet.line, FREE)
        if slot != FREE:
            state.valid[slot] &= ~packet.sectors
        entry = state.misses.get(packet.line)
        if entry is not None:
            entry.stale |= entry.pending & packet.sectors

    def wake(self, cycle: int) -> None:
        """A resource has been freed: look at the heads again."""
        state = self.state
        state.requests.wake = state.crossings.wake = 0
        if state.requests.items or state.crossings.items:
            state.due = min(state.due, cycle)

    # -- time ----------------------------------------------------------------------------------------------

    def step(self, cycle: int, now_fs: int) -> None:
        """One cycle: a look-up if one can be done, then the replies; sets the next due cycle."""
        state = self.state
        requests, crossings = state.requests, state.crossings
        if state.port_free <= cycle and (requests.items or crossings.items):
            self._look_up(cycle, now_fs)
        following = NEVER
        if state.leaving or state.replies or state.crossing_replies:
            if self.output.step(cycle, now_fs) and requests.cause == OUTPUT:
                requests.wake = 0
            following = self.output.next_cycle(cycle)
        if requests.items and requests.wake < NEVER:
            following = min(following, max(cycle + 1, state.port_free, requests.wake))
        if crossings.items and crossings.wake < NEVER:
            following = min(following, max(cycle + 1, state.port_free, crossings.wake))
        state.due = following

    def _look_up(self, cycle: int, now_fs: int) -> None:
        """Serve the older head, or the other one when the older can't be served."""
        state = self.state
        first, second = state.requests, state.crossings
        if second.items and not (first.items and first.items[0][0] < second.items[0][0]):
            first, second = second, first
        for queue in (first, second):
            if queue.items and queue.wake <= cycle:
                queue.wake = NEVER
                packet = queue.items[0][1]
                if SERVE[packet.operation](self, queue, packet, cycle, now_fs):
                    self._take(queue, now_fs)
                    return

    def _take(self, queue: InputQueue, now_fs: int) -> None:
        entered_fs, _ = queue.items.popleft()
        queue.wake = 0
        queue.cause = NOTHING
        if queue is self.state.crossings:
            self.crossing_meter.leave(now_fs, entered_fs)
            return
        self.meter.leave(now_fs, entered_fs)
        partition = self.partition
        delay = partition.links.slice_to_crossbar_fs
        partition.send(partition.crossbar, now_fs, delay, SLICE_CREDIT, (self.ident, 1))

    # -- for the operations --------------------------------------------------------------------------------

    def reply(self, packet: Packet, sectors: int, payload_bytes: int) -> Packet:
        """A packet that answers (a part of) a request, with a copy of its latency record."""
        return Packet(
            packet.operation,
            packet.sm,
            packet.line,
            sectors,
            0,
            payload_bytes,
            packet.kernel,
            packet.token,
            packet.lanes,
            packet.last_fs,
            packet.slice,
            packet.near,
            packet.phases.copy(),
        )

    def count(self, first: int, kernel: int, wanted: int, hits: int, missing: int, merges: int) -> None:
        counts = self.partition.counts[kernel]
        counts[first] += 1
        counts[first + 1] += wanted.bit_count()
        counts[first + 2] += hits.bit_count()
        counts[first + 3] += missing.bit_count()
        counts[first + 4] += merges.bit_count()

    # -- the end -------------------------------------------------------------------------------------------

    def count_dirty(self) -> None:
        """Count the dirty sectors that are left, for the kernels that dirtied them."""
        state = self.state
        for slot, dirty in enumerate(state.dirty):
            if dirty:
                self.partition.counts[state.owner[slot]][C_DIRTY_LEFT] += dirty.bit_count()

    def waits_for(self) -> list[str]:
        """Unfinished work, and what it waits for."""
        state = self.state
        lines = []
        for queue, source in ((state.requests, "SMs"), (state.crossings, "the other partition")):
            if queue.items:
                cause = STALL_TEXTS[queue.cause]
                lines.append(f"slice {self.ident}: {len(queue.items)} requests of {source} wait for {cause}")
        if state.replies and not self.output.may_send():
            lines.append(f"slice {self.ident}: {len(state.replies)} replies wait for credits of the crossbar")
        for far, holder in ((0, "DRAM"), (1, "the home slice")):
            if state.entries[far]:
                lines.append(f"slice {self.ident}: {state.entries[far]} MSHRs wait for {holder}")
        return lines

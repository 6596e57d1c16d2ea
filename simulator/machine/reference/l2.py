"""An L2 slice: input queues, one look-up a cycle, a sectored write-back cache, atomics done in place.

A tick looks up the head of a queue, then lets replies out. Requests of SMs and of the slice of the other
partition have a queue each; the older head goes first, and when it must wait for a resource the other one
is tried, so neither class waits for the other. Data takes the port at `slice_bytes_per_cycle`. A hit leaves
`access_latency_cycles` after its look-up; a miss spends half of that before and half after its fetch. For a
request from the other partition, whose slice has spent its own latency, the look-up at home is part of the
crossing: a far hit takes exactly two crossings more than a near one. When a home line is evicted the home
forgets that the other partition had a copy; that copy may then be stale, which costs a few cycles of error
and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.slice_hash import home_of
from simulator.machine.messages import ATOMIC, LINK_INVALIDATE, READ, REDUCE, SLICE_CREDIT, WRITE, Packet
from simulator.machine.order import NEVER
from simulator.machine.reference.l2_misses import Misses
from simulator.machine.reference.l2_output import Output
from simulator.machine.reference.l2_tags import Tags
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state_l2 import (
    ATOMIC_UNIT,
    FREE,
    MSHR_ENTRY,
    MSHR_MERGE,
    NOTHING,
    OUTPUT,
    STALL_TEXTS,
    WAY,
    WRITE_PLACE,
    InputQueue,
    Waiter,
    make_slice,
)
from simulator.statistics.phases import CROSSBAR_REQUEST, L2_QUEUE, PARTITION_LINK
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.partition import MemoryPartition

C_READ = INDEX["l2_read_requests"]
C_LINK_READ = INDEX["link_read_requests"]
C_ATOMIC = INDEX["l2_atomic_requests"]
"""Requests; sectors, hits, misses and merges follow each."""
C_WRITE_REQUESTS = INDEX["l2_write_requests"]
C_WRITE_SECTORS = INDEX["l2_write_sectors"]
C_WRITE_BYTES = INDEX["l2_write_bytes"]
C_WRITEBACKS = INDEX["l2_writeback_sectors"]
C_INVALIDATIONS = INDEX["link_invalidations"]
C_DIRTY_LEFT = INDEX["l2_dirty_left"]

SECTOR_BYTES = 32
BITS = [mask.bit_count() for mask in range(16)]


class Slice:
    """Slice `index` of a memory partition, `ident` of the card."""

    def __init__(self, partition: MemoryPartition, index: int, ident: int) -> None:
        gpu = partition.gpu
        self.partition = partition
        self.index = index
        self.ident = ident
        sets = gpu.l2.size_kib * 1024 // (gpu.l2.slices * gpu.line_bytes * gpu.l2.ways)
        self.state = make_slice(sets, gpu.l2.ways, partition.links.reply_credits)
        self.tags = Tags(gpu, self.state)
        self.output = Output(partition, self.state)
        self.misses = Misses(self, self.state)
        self.meter = QueueMeter()
        self.crossing_meter = QueueMeter()
        self.depth = gpu.l2.queue_depth
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

    def credit(self, count: int, cycle: int) -> None:
        """Places in the crossbar's reply FIFO."""
        self.state.reply_credits += count
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
        if state.port_free <= cycle:
            self._look_up(cycle, now_fs)
        if self.output.step(cycle, now_fs) and state.requests.cause == OUTPUT:
            state.requests.wake = 0
        following = self.output.next_cycle(cycle)
        for queue in (state.requests, state.crossings):
            if queue.items and queue.wake < NEVER:
                following = min(following, max(cycle + 1, state.port_free, queue.wake))
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
                if self._serve(queue, queue.items[0][1], cycle, now_fs):
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

    def _serve(self, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
        """Do the look-up of a head unless something lacks; `queue.cause` then says what."""
        if packet.operation == READ:
            return self._read(queue, packet, cycle, now_fs)
        if packet.operation == WRITE:
            return self._write(queue, packet, cycle, now_fs)
        return self._atomic(queue, packet, cycle, now_fs)

    # -- operations ----------------------------------------------------------------------------------------

    def _read(self, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
        state = self.state
        crosses = queue is state.crossings
        if not crosses and self.output.full:
            queue.cause = OUTPUT
            return False
        line = packet.line
        wanted = packet.sectors
        slot = state.slot_of.get(line, FREE)
        hits = wanted & state.valid[slot] if slot != FREE else 0
        entry = state.misses.get(line)
        merges = wanted & ~hits & entry.pending if entry is not None else 0
        missing = wanted & ~hits & ~merges
        if missing or merges:
            if entry is not None:
                if entry.requests >= self.misses.merges:
                    queue.cause = MSHR_MERGE
                    return False
            else:
                partitions = self.partition.gpu.l2.partitions
                far = partitions > 1 and home_of(line, self.partition.gpu.l2.slices, partitions) != self.ident
                if state.entries[far] >= self.misses.limit:
                    queue.cause = MSHR_ENTRY
                    return False
                if slot == FREE:
                    slot = self.tags.victim(line)
                    if slot != FREE and not self._evict(queue, slot, line, now_fs):
                        return False
                entry = self.misses.open(line, slot, far, now_fs)
            entry.requests += 1
        if slot != FREE:
            self.tags.touch(slot)
            if crosses:
                state.copied[slot] |= wanted
        self._count(C_LINK_READ if crosses else C_READ, packet.kernel, wanted, hits, missing, merges)
        state.port_free = cycle + max(1, -(-BITS[hits] * SECTOR_BYTES // self.port_bytes))
        packet.mark(PARTITION_LINK if crosses else L2_QUEUE, now_fs)
        ready = cycle if crosses else cycle + self.access_cycles
        for group in self.groups:
            part = wanted & group
            if part:
                reply = self._reply(packet, part, SECTOR_BYTES * BITS[part])
                if part & ~hits and entry is not None:
                    entry.waiters.append(Waiter(reply, part & ~hits, part & missing, ready, crosses))
                else:
                    self.output.leave(reply, ready, crosses)
        if missing and entry is not None:
            self.misses.request(entry, packet, missing, now_fs, crosses)
        return True

    def _write(self, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
        state = self.state
        slot = self._own_slot(queue, packet.line, now_fs)
        if slot == FREE:
            return False
        self.tags.touch(slot)
        state.valid[slot] |= packet.full
        state.dirty[slot] |= packet.sectors
        state.owner[slot] = packet.kernel
        self._invalidate_copy(packet, slot, now_fs)
        counts = self.partition.counts[packet.kernel]
        counts[C_WRITE_REQUESTS] += 1
        counts[C_WRITE_SECTORS] += BITS[packet.sectors]
        counts[C_WRITE_BYTES] += packet.payload_bytes
        state.port_free = cycle + max(1, -(-packet.payload_bytes // self.port_bytes))
        packet.mark(L2_QUEUE, now_fs)
        self.output.acknowledge(packet, cycle + self.access_cycles, now_fs)
        return True

    def _atomic(self, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
        state = self.state
        if state.atomic_tenths > 10 * cycle:
            queue.cause = ATOMIC_UNIT
            queue.wake = -(-state.atomic_tenths // 10)
            return False
        if packet.operation == ATOMIC and self.output.full:
            queue.cause = OUTPUT
            return False
        line = packet.line
        entry = state.misses.get(line)
        held = state.slot_of.get(line, FREE)
        hits = packet.sectors & state.valid[held] if held != FREE else 0
        merges = packet.sectors & ~hits & entry.pending if entry is not None else 0
        missing = packet.sectors & ~hits & ~merges
        if missing or merges:
            if entry is not None and entry.requests >= self.misses.merges:
                queue.cause = MSHR_MERGE
                return False
            if entry is None and state.entries[0] >= self.misses.limit:
                queue.cause = MSHR_ENTRY
                return False
        slot = self._own_slot(queue, line, now_fs)
        if slot == FREE:
            return False
        if missing or merges:
            if entry is None:
                entry = self.misses.open(line, slot, False, now_fs)
            elif entry.slot == FREE:
                entry.slot = slot
                self.tags.pin(slot)
            entry.requests += 1
        self.tags.touch(slot)
        self._invalidate_copy(packet, slot, now_fs)
        self._count(C_ATOMIC, packet.kernel, packet.sectors, hits, missing, merges)
        # The unit keeps its fraction of a cycle while requests follow each other without a gap.
        start = state.atomic_tenths if 10 * cycle - state.atomic_tenths < 10 else 10 * cycle
        state.atomic_tenths = start + self.atomic_tenths
        state.port_free = cycle + max(1, -(-packet.payload_bytes // self.port_bytes))
        packet.mark(L2_QUEUE, now_fs)
        reply = packet if packet.operation == REDUCE else self._reply(packet, packet.sectors, SECTOR_BYTES)
        ready = cycle + self.access_cycles
        if entry is not None and (missing or merges):
            entry.waiters.append(Waiter(reply, missing | merges, missing, ready, False))
            if missing:
                self.misses.request(entry, packet, missing, now_fs, False)
            return True
        state.dirty[slot] |= packet.sectors
        state.owner[slot] = packet.kernel
        if packet.operation == REDUCE:
            self.output.acknowledge(reply, ready, now_fs)
        else:
            self.output.leave(reply, ready, False)
        return True

    # -- their parts ---------------------------------------------------------------------------------------

    def _own_slot(self, queue: InputQueue, line: int, now_fs: int) -> int:
        """The slot of a line that will be dirty, made if need be; FREE when that must wait."""
        slot = self.state.slot_of.get(line, FREE)
        if slot == FREE:
            slot = self.tags.victim(line)
            if slot == FREE:
                queue.cause = WAY
            elif not self._evict(queue, slot, line, now_fs):
                slot = FREE
        return slot

    def _evict(self, queue: InputQueue, slot: int, line: int, now_fs: int) -> bool:
        """Give a slot to a line, writing back what it holds; False when DRAM has no places for that."""
        state = self.state
        dirty = state.dirty[slot]
        if dirty:
            old = state.line_of[slot]
            if not self.partition.memory.has_write_places(self.index, old, dirty):
                queue.cause = WRITE_PLACE
                return False
            kernel = state.owner[slot]
            self.partition.counts[kernel][C_WRITEBACKS] += BITS[dirty]
            self.partition.memory.write_back(self.index, old, dirty, kernel, now_fs)
        self.tags.replace(slot, line)
        return True

    def _invalidate_copy(self, packet: Packet, slot: int, now_fs: int) -> None:
        """Tell the other partition's slice to drop what it may have copied."""
        stale = self.state.copied[slot] & packet.sectors
        if not stale:
            return
        self.state.copied[slot] &= ~stale
        partition = self.partition
        partition.counts[packet.kernel][C_INVALIDATIONS] += 1
        order = self._reply(packet, stale, 0)
        share = partition.routing.share
        order.near = self.ident + share if self.ident < share else self.ident - share
        partition.send(partition.crossbar, now_fs, partition.links.crossing_in_fs, LINK_INVALIDATE, order)

    def _reply(self, packet: Packet, sectors: int, payload_bytes: int) -> Packet:
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

    def _count(self, first: int, kernel: int, wanted: int, hits: int, missing: int, merges: int) -> None:
        counts = self.partition.counts[kernel]
        counts[first] += 1
        counts[first + 1] += BITS[wanted]
        counts[first + 2] += BITS[hits]
        counts[first + 3] += BITS[missing]
        counts[first + 4] += BITS[merges]

    # -- the end -------------------------------------------------------------------------------------------

    def count_dirty(self) -> None:
        """Count the dirty sectors that are left, for the kernels that dirtied them."""
        state = self.state
        for slot, dirty in enumerate(state.dirty):
            if dirty:
                self.partition.counts[state.owner[slot]][C_DIRTY_LEFT] += BITS[dirty]

    def waits_for(self) -> list[str]:
        """Unfinished work, and what it waits for."""
        state = self.state
        lines = []
        for queue, source in ((state.requests, "SMs"), (state.crossings, "the other partition")):
            if queue.items:
                cause = STALL_TEXTS[queue.cause]
                lines.append(f"slice {self.ident}: {len(queue.items)} requests of {source} wait for {cause}")
        if state.replies and not state.reply_credits:
            lines.append(f"slice {self.ident}: {len(state.replies)} replies wait for credits of the crossbar")
        for far, holder in ((0, "DRAM"), (1, "the home slice")):
            if state.entries[far]:
                lines.append(f"slice {self.ident}: {state.entries[far]} MSHRs wait for {holder}")
        return lines

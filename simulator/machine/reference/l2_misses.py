"""Misses of an L2 slice: the MSHR of a line, who waits for which of its sectors, and what happens when a
sector arrives.

An MSHR covers a line; the MSHRs for DRAM and those for the partition link are counted apart, because a
request of the other partition must never wait for one that itself waits for the other partition. A reply
that needs several sectors leaves with the last of them and takes its latency record from that one (of
sectors that arrive together, from the lowest); one that found the sector already on its way has waited in
the MSHR. The path to DRAM takes `l2.miss_latency_cycles`, half each way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import ATOMIC, LINK_REQUEST, READ, REDUCE, Packet
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state_l2 import FREE, Fetch, MissEntry, SliceState, Waiter
from simulator.statistics.phases import (
    DRAM_ACTIVATE,
    DRAM_BURST,
    DRAM_COLUMN,
    DRAM_CONTROLLER,
    DRAM_QUEUE,
    L2,
    MSHR,
    PARTITION_LINK,
    PHASES,
)
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l2 import Slice

C_FILL = INDEX["l2_fill_sectors"]


class Misses:
    """Miss side of one slice."""

    def __init__(self, owner: Slice, state: SliceState) -> None:
        self.owner = owner
        self.state = state
        gpu = owner.partition.gpu
        self.limit = gpu.l2.mshr_entries
        self.merges = gpu.l2.mshr_merges
        access = gpu.l2.access_latency_cycles
        self.before_cycles = access // 2
        self.after_cycles = access - self.before_cycles
        self.meter = QueueMeter()

    def open(self, line: int, slot: int, far: bool, now_fs: int) -> MissEntry:
        """Take an MSHR for a line; `slot` is FREE when the line won't be kept."""
        entry = MissEntry(slot, far, now_fs)
        self.state.misses[line] = entry
        self.state.entries[far] += 1
        self.meter.enter(now_fs)
        if slot != FREE:
            self.owner.tags.pin(slot)
        return entry

    def request(self, entry: MissEntry, packet: Packet, sectors: int, now_fs: int, crosses: bool) -> None:
        """Ask DRAM or the home slice for sectors of a line."""
        partition = self.owner.partition
        entry.pending |= sectors
        wait_fs = 0 if crosses else self.before_cycles * partition.period_fs
        if entry.far:
            share = partition.routing.share
            here = self.owner.ident
            question = Packet(
                operation=READ,
                sm=packet.sm,
                line=packet.line,
                sectors=sectors,
                full=0,
                payload_bytes=0,
                kernel=packet.kernel,
                token=packet.token,
                lanes=0,
                last_fs=now_fs + wait_fs,
                slice=here + share if here < share else here - share,
                near=here,
            )
            delay = wait_fs + partition.links.crossing_in_fs
            partition.send(partition.crossbar, now_fs, delay, LINK_REQUEST, question)
            return
        partition.memory.fetch(self.owner.index, packet.line, sectors, packet.kernel, now_fs + wait_fs)

    def fetched(self, fetch: Fetch, cycle: int, now_fs: int) -> None:
        """A sector from DRAM."""
        self._arrive(fetch.line, 1 << fetch.sector, fetch.kernel, fetch, None, cycle, now_fs)

    def answered(self, answer: Packet, cycle: int, now_fs: int) -> None:
        """Sectors from the home slice."""
        answer.mark(PARTITION_LINK, now_fs)
        for sector in (3, 2, 1, 0):
            if answer.sectors >> sector & 1:
                self._arrive(answer.line, 1 << sector, answer.kernel, None, answer, cycle, now_fs)

    def _arrive(
        self,
        line: int,
        bit: int,
        kernel: int,
        fetch: Fetch | None,
        answer: Packet | None,
        cycle: int,
        now_fs: int,
    ) -> None:
        state = self.state
        entry = state.misses[line]
        entry.pending &= ~bit
        self.owner.partition.counts[kernel][C_FILL] += 1
        slot = state.slot_of.get(line, FREE)
        if slot != FREE and not entry.stale & bit:
            state.valid[slot] |= bit
        done = False
        for waiter in entry.waiters:
            if waiter.sectors & bit:
                waiter.sectors ^= bit
                if not waiter.sectors:
                    done = True
                    if not waiter.own & bit:
                        waiter.reply.mark(MSHR, now_fs)
                    elif fetch is not None:
                        _charge_dram(waiter.reply, fetch)
                    elif answer is not None:
                        _charge_link(waiter.reply, answer, now_fs)
                    self._finish(waiter, slot, cycle, now_fs)
        if done:
            entry.waiters = [waiter for waiter in entry.waiters if waiter.sectors]
        if not entry.pending:
            del state.misses[line]
            state.entries[entry.far] -= 1
            self.meter.leave(now_fs, entry.entered_fs)
            if entry.slot != FREE:
                self.owner.tags.unpin(entry.slot)
            self.owner.wake(cycle)

    def _finish(self, waiter: Waiter, slot: int, cycle: int, now_fs: int) -> None:
        """A reply has all its sectors."""
        reply = waiter.reply
        if waiter.crosses:
            reply.mark(L2, now_fs)
            self.owner.output.leave(reply, cycle, True)
            return
        leave = max(cycle + self.after_cycles, waiter.ready)
        if reply.operation in {ATOMIC, REDUCE}:
            self.state.dirty[slot] |= reply.sectors
            self.state.owner[slot] = reply.kernel
            if reply.operation == REDUCE:
                self.owner.output.acknowledge(reply, leave, now_fs)
                return
        self.owner.output.leave(reply, leave, False)


def _charge_dram(reply: Packet, fetch: Fetch) -> None:
    """Cut the time since the look-up where the sector's way through DRAM is cut."""
    reply.mark(L2, fetch.arrive_fs)
    reply.mark(DRAM_QUEUE, fetch.first_fs)
    reply.mark(DRAM_ACTIVATE, fetch.column_fs)
    reply.mark(DRAM_COLUMN, fetch.burst_fs)
    reply.mark(DRAM_BURST, fetch.done_fs)
    reply.mark(DRAM_CONTROLLER, fetch.ready_fs)


def _charge_link(reply: Packet, answer: Packet, now_fs: int) -> None:
    """Take over the record of the answer from the home slice, which began when the question left."""
    reply.mark(L2, now_fs - sum(answer.phases))
    for phase in range(len(PHASES)):
        reply.phases[phase] += answer.phases[phase]
    reply.last_fs = now_fs

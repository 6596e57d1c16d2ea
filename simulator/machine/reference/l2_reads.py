"""Reads at an L2 slice, of an SM or of the slice in the other partition: hits, misses, merges.

A sector that is held is a hit, one that is on its way a merge, any other a miss, which is fetched by
itself. Replies are packets of `crossbar.packet_bytes`, each sent when its own sectors are there. What a
look-up needs besides the port (room among the outgoing replies, an MSHR, a place in it, places for a
write-back) is checked before anything changes. No read waits for a way: with none to give, its line is
passed on and not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.slice_hash import home_of
from simulator.machine.messages import Packet
from simulator.machine.reference.l2_room import make_room
from simulator.machine.state_l2 import FREE, MSHR_ENTRY, MSHR_MERGE, OUTPUT, SECTOR_BYTES, InputQueue, Waiter
from simulator.statistics.phases import L2_QUEUE, PARTITION_LINK
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l2 import Slice

C_READ = INDEX["l2_read_requests"]
C_LINK_READ = INDEX["link_read_requests"]
"""Requests; sectors, hits, misses and merges follow each."""


def read(part: Slice, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
    """Look up a read; False when it must wait."""
    state = part.state
    crosses = queue is state.crossings
    if not crosses and part.output.full:
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
            if entry.requests >= part.misses.merges:
                queue.cause = MSHR_MERGE
                return False
        else:
            partitions = part.partition.gpu.l2.partitions
            far = partitions > 1 and home_of(line, part.partition.gpu.l2.slices, partitions) != part.ident
            if state.entries[far] >= part.misses.limit:
                queue.cause = MSHR_ENTRY
                return False
            if slot == FREE:
                slot = part.tags.victim(line)
                if slot != FREE and not make_room(part, queue, slot, line, now_fs):
                    return False
            entry = part.misses.open(line, slot, far, now_fs)
        entry.requests += 1
    if slot != FREE:
        part.tags.touch(slot)
        if crosses:
            state.copied[slot] |= wanted
    part.count(C_LINK_READ if crosses else C_READ, packet.kernel, wanted, hits, missing, merges)
    state.port_free = cycle + max(1, -(-hits.bit_count() * SECTOR_BYTES // part.port_bytes))
    packet.mark(PARTITION_LINK if crosses else L2_QUEUE, now_fs)
    ready = cycle if crosses else cycle + part.access_cycles
    for group in part.groups:
        asked = wanted & group
        if asked:
            reply = part.reply(packet, asked, SECTOR_BYTES * asked.bit_count())
            if asked & ~hits and entry is not None:
                entry.waiters.append(Waiter(reply, asked & ~hits, asked & missing, ready, crosses))
            else:
                part.output.leave(reply, ready, crosses)
    if missing and entry is not None:
        part.misses.request(entry, packet, missing, now_fs, crosses)
    return True

"""Atomics and reductions, done at their home slice by its one atomic unit.

The unit starts a warp's request every `l2.atomic_interval_tenths` of a cycle, on whole cycles, keeping the
fraction while requests follow each other. Sectors that are missing are fetched first; the result is dirty.
An atomic is answered by one packet of 32 bytes, a reduction by an acknowledgement. How the lanes of one
request contend is not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import ATOMIC, REDUCE, Packet
from simulator.machine.reference.l2_room import own_slot
from simulator.machine.reference.l2_writes import invalidate_copy
from simulator.machine.state_l2 import (
    ATOMIC_UNIT,
    FREE,
    MSHR_ENTRY,
    MSHR_MERGE,
    OUTPUT,
    SECTOR_BYTES,
    InputQueue,
    Waiter,
)
from simulator.statistics.phases import L2_QUEUE
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l2 import Slice

C_ATOMIC = INDEX["l2_atomic_requests"]
"""Requests; sectors, hits, misses and merges follow."""


def atomic(part: Slice, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
    """Look up an atomic or a reduction; False when it must wait."""
    state = part.state
    if state.atomic_tenths > 10 * cycle:
        queue.cause = ATOMIC_UNIT
        queue.wake = -(-state.atomic_tenths // 10)
        return False
    if packet.operation == ATOMIC and part.output.full:
        queue.cause = OUTPUT
        return False
    line = packet.line
    entry = state.misses.get(line)
    held = state.slot_of.get(line, FREE)
    hits = packet.sectors & state.valid[held] if held != FREE else 0
    merges = packet.sectors & ~hits & entry.pending if entry is not None else 0
    missing = packet.sectors & ~hits & ~merges
    if missing or merges:
        if entry is not None and entry.requests >= part.misses.merges:
            queue.cause = MSHR_MERGE
            return False
        if entry is None and state.entries[0] >= part.misses.limit:
            queue.cause = MSHR_ENTRY
            return False
    slot = own_slot(part, queue, line, now_fs)
    if slot == FREE:
        return False
    if missing or merges:
        if entry is None:
            entry = part.misses.open(line, slot, False, now_fs)
        elif entry.slot == FREE:
            entry.slot = slot
            part.tags.pin(slot)
        entry.requests += 1
    part.tags.touch(slot)
    invalidate_copy(part, packet, slot, now_fs)
    part.count(C_ATOMIC, packet.kernel, packet.sectors, hits, missing, merges)
    # The unit keeps its fraction of a cycle while requests follow each other without a gap.
    start = state.atomic_tenths if 10 * cycle - state.atomic_tenths < 10 else 10 * cycle
    state.atomic_tenths = start + part.atomic_tenths
    state.port_free = cycle + max(1, -(-packet.payload_bytes // part.port_bytes))
    packet.mark(L2_QUEUE, now_fs)
    reply = packet if packet.operation == REDUCE else part.reply(packet, packet.sectors, SECTOR_BYTES)
    ready = cycle + part.access_cycles
    if entry is not None and (missing or merges):
        entry.waiters.append(Waiter(reply, missing | merges, missing, ready, False))
        if missing:
            part.misses.request(entry, packet, missing, now_fs, False)
        return True
    state.dirty[slot] |= packet.sectors
    state.owner[slot] = packet.kernel
    if packet.operation == REDUCE:
        part.output.acknowledge(reply, ready, now_fs)
    else:
        part.output.leave(reply, ready, False)
    return True

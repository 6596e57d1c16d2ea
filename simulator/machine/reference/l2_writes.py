"""Writes at their home slice, and what a write means for a copy of the line in the other partition.

Sectors that are written whole become readable at once; those written in part are dirty and fetched when
read. A write takes no MSHR. It is acknowledged when it leaves the pipeline. The other partition is told to
drop its copy of written sectors, one way, without an answer: the acknowledgement does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import LINK_INVALIDATE, Packet
from simulator.machine.reference.l2_room import own_slot
from simulator.machine.state_l2 import FREE, InputQueue
from simulator.statistics.phases import L2_QUEUE
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l2 import Slice

C_REQUESTS = INDEX["l2_write_requests"]
C_SECTORS = INDEX["l2_write_sectors"]
C_BYTES = INDEX["l2_write_bytes"]
C_INVALIDATIONS = INDEX["link_invalidations"]


def write(part: Slice, queue: InputQueue, packet: Packet, cycle: int, now_fs: int) -> bool:
    """Look up a write; False when it must wait."""
    state = part.state
    slot = own_slot(part, queue, packet.line, now_fs)
    if slot == FREE:
        return False
    part.tags.touch(slot)
    state.valid[slot] |= packet.full
    state.dirty[slot] |= packet.sectors
    state.owner[slot] = packet.kernel
    invalidate_copy(part, packet, slot, now_fs)
    counts = part.partition.counts[packet.kernel]
    counts[C_REQUESTS] += 1
    counts[C_SECTORS] += packet.sectors.bit_count()
    counts[C_BYTES] += packet.payload_bytes
    state.port_free = cycle + max(1, -(-packet.payload_bytes // part.port_bytes))
    packet.mark(L2_QUEUE, now_fs)
    part.output.acknowledge(packet, cycle + part.access_cycles, now_fs)
    return True


def invalidate_copy(part: Slice, packet: Packet, slot: int, now_fs: int) -> None:
    """Tell the other partition's slice to drop what it may have copied."""
    stale = part.state.copied[slot] & packet.sectors
    if not stale:
        return
    part.state.copied[slot] &= ~stale
    partition = part.partition
    partition.counts[packet.kernel][C_INVALIDATIONS] += 1
    order = part.reply(packet, stale, 0)
    share = partition.routing.share
    order.near = part.ident + share if part.ident < share else part.ident - share
    partition.send(partition.crossbar, now_fs, partition.links.crossing_in_fs, LINK_INVALIDATE, order)

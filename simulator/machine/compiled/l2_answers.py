"""What the operations of an L2 slice share: packets that answer, counters of look-ups, the port, stale
copies.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.inbox import REST, send_packet
from simulator.machine.compiled.jit import bit_count, compiled, inlined, quotient
from simulator.machine.compiled.layout import P_PACKETS, PACKET_PHASES, packet
from simulator.machine.compiled.layout_memory import l2_line, slice_at
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.routing import owner, peer
from simulator.machine.messages import LINK_INVALIDATE
from simulator.statistics.schema import INDEX

C_INVALIDATIONS = INDEX["link_invalidations"]


@compiled
def answer_to(m: Any, asked: int, sectors: int, payload: int) -> int:
    """A packet that answers (a part of) a request, with a copy of its latency record."""
    index = take(m, P_PACKETS)
    one = packet(m.packets, asked)
    reply = packet(m.packets, index)
    reply.operation = one.operation
    reply.sm = one.sm
    reply.line = one.line
    reply.sectors = sectors
    reply.full = 0
    reply.payload = payload
    reply.kernel = one.kernel
    reply.token = one.token
    reply.lanes = one.lanes
    reply.last_fs = one.last_fs
    reply.slice = one.slice
    reply.near = one.near
    for phase in range(PACKET_PHASES):
        reply.phases[phase] = one.phases[phase]
    return index


@compiled
def count_sectors(m: Any, first: int, kernel: int, wanted: int, hits: int, missing: int, merges: int) -> None:
    """Count a request and its sectors in five counters that follow each other."""
    count(m, kernel, first, 1)
    count(m, kernel, first + 1, bit_count(wanted))
    count(m, kernel, first + 2, bit_count(hits))
    count(m, kernel, first + 3, bit_count(missing))
    count(m, kernel, first + 4, bit_count(merges))


@inlined
def hold_port(m: Any, slice_id: int, cycle: int, size: int) -> None:
    """Keep the look-up and data port for so many bytes, a cycle at least."""
    busy = max(1, quotient(size + m.slice_bytes - 1, m.slice_bytes))
    slice_at(m.slice_states, slice_id).port_free = cycle + busy


@compiled
def invalidate_copy(m: Any, slice_id: int, asked: int, slot: int, cycle: int) -> None:
    """Tell the other partition's slice to drop what it may have copied."""
    line = l2_line(m.l2_lines, slot)
    one = packet(m.packets, asked)
    stale = line.copied & one.sectors
    if not stale:
        return
    line.copied &= ~stale
    count(m, one.kernel, C_INVALIDATIONS, 1)
    order = answer_to(m, asked, stale, 0)
    packet(m.packets, order).near = peer(m, slice_id)
    send_packet(m, owner(m, slice_id), REST, cycle + m.crossing_in, LINK_INVALIDATE, order)

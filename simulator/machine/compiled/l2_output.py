"""The way out of an L2 slice: the end of its pipeline, the reply port, and acknowledgements.

The machine of the reference engine's file of this name. The entry of a packet in the pipeline serves on in
the queue behind it; its order is the age of the reply.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import mark
from simulator.machine.compiled.inbox import OVER_LINK, REST, TO_SMS, describe, send_entry, send_packet
from simulator.machine.compiled.jit import compiled, inlined, quotient
from simulator.machine.compiled.layout import P_NODES, node, packet, queue
from simulator.machine.compiled.layout_memory import slice_at
from simulator.machine.compiled.order import append, dequeue, first_key, insert, pull
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.routing import crosses, owner
from simulator.machine.messages import ACK, LINK_REPLY, REPLY
from simulator.statistics.phases import L2, PARTITION_LINK

REQUESTS, CROSSINGS, REPLIES, CROSSING_REPLIES = range(4)
"""The queues of a slice."""


@inlined
def queue_of(m: Any, slice_id: int, which: int) -> int:
    """Number of a queue of a slice."""
    return m.q_slice + 4 * slice_id + which


@inlined
def is_full(m: Any, slice_id: int) -> int:
    """Whether so many replies wait that no request may be looked up that adds to them."""
    return 1 if queue(m.queues, queue_of(m, slice_id, REPLIES)).count >= m.reply_fifo else 0


@compiled
def leave(m: Any, slice_id: int, index: int, cycle: int, crossing: int) -> None:
    """Let a reply out of the pipeline at `cycle`."""
    state = slice_at(m.slice_states, slice_id)
    about = packet(m.packets, index)
    mark(about, PARTITION_LINK if crossing else L2, cycle * m.l2_period_fs)
    state.number += 1
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    # All that its way out must know: by then the packet lies far off.
    one.what = index
    describe(one, about, about.token)
    one.kind = crossing
    insert(m, m.q_leaving + slice_id, entry, cycle, state.number)
    state.due = min(state.due, cycle)


@compiled
def acknowledge(m: Any, slice_id: int, index: int, cycle: int) -> None:
    """Send the acknowledgement that leaves the pipeline at `cycle`; the message includes that wait."""
    one = packet(m.packets, index)
    mark(one, L2, cycle * m.l2_period_fs)
    if crosses(m, one.sm, one.slice):
        cycle += m.crossing_cycles
        mark(one, PARTITION_LINK, cycle * m.l2_period_fs)
    one.payload = 0
    send_packet(m, owner(m, slice_id), REST, cycle + m.slice_to_crossbar, ACK, index)


@inlined
def may_send(m: Any, slice_id: int) -> int:
    """Whether the oldest reply to an SM has a credit."""
    head = queue(m.queues, queue_of(m, slice_id, REPLIES)).head
    if head < 0:
        return 0
    one = node(m.nodes, head)
    return 1 if slice_at(m.slice_states, slice_id).credits[crosses(m, one.sm, one.slice)] > 0 else 0


@inlined
def _send_first(m: Any, slice_id: int, which: int, cycle: int, delay: int, kind: int) -> None:
    """Send the first packet of a queue."""
    entry = dequeue(m, queue_of(m, slice_id, which))
    port = m.slice_bytes
    busy = max(1, quotient(node(m.nodes, entry).payload + port - 1, port))
    slice_at(m.slice_states, slice_id).out_free = cycle + busy
    way = TO_SMS if which == REPLIES else OVER_LINK
    send_entry(m, owner(m, slice_id), way, cycle + delay, kind, entry)


@compiled
def step(m: Any, slice_id: int, cycle: int) -> int:
    """Move what is due; whether a reply to an SM has left, so that look-ups may go on."""
    state = slice_at(m.slice_states, slice_id)
    while first_key(m, m.q_leaving + slice_id) <= cycle:
        entry = pull(m, m.q_leaving + slice_id)
        append(m, queue_of(m, slice_id, CROSSING_REPLIES if node(m.nodes, entry).kind else REPLIES), entry)
    if state.out_free > cycle:
        return 0
    crossing = queue(m.queues, queue_of(m, slice_id, CROSSING_REPLIES)).head
    if may_send(m, slice_id):
        reply = queue(m.queues, queue_of(m, slice_id, REPLIES)).head
        if not (crossing >= 0 and node(m.nodes, crossing).order < node(m.nodes, reply).order):
            one = node(m.nodes, reply)
            state.credits[crosses(m, one.sm, one.slice)] -= 1
            _send_first(m, slice_id, REPLIES, cycle, m.slice_to_crossbar, REPLY)
            return 1
    if crossing >= 0:
        _send_first(m, slice_id, CROSSING_REPLIES, cycle, m.crossing_in, LINK_REPLY)
    return 0


@inlined
def next_cycle(m: Any, slice_id: int, cycle: int) -> int:
    """The next cycle at which something can leave the pipeline or the port; notes whether the oldest reply to
    an SM waits for a credit.
    """
    state = slice_at(m.slice_states, slice_id)
    ready = may_send(m, slice_id)
    state.blocked = 1 if queue(m.queues, queue_of(m, slice_id, REPLIES)).count and not ready else 0
    following = first_key(m, m.q_leaving + slice_id)
    if queue(m.queues, queue_of(m, slice_id, CROSSING_REPLIES)).count or ready:
        following = min(following, max(cycle + 1, state.out_free))
    return following

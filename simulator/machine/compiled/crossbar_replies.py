"""The reply network of the crossbar: a FIFO for each slice, of which only the oldest few packets may leave,
and the SMs' ports.

The machine of the reference engine's file of this name. In each round every slice proposes one packet to the
port that it wants; `proposal` holds, by SM, the slice that leads so far, and those that lost go into the next
round.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import order
from simulator.machine.compiled.inbox import ANSWERS, pass_on, send_notice
from simulator.machine.compiled.jit import compiled, inlined, load, quotient, store
from simulator.machine.compiled.layout import node, queue
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.order import popped, pushed
from simulator.machine.compiled.routing import crosses, owner
from simulator.machine.messages import REPLY, REPLY_CREDIT
from simulator.machine.order import NEVER

FIFO_OVERFLOW = 101
"""Error: a reply FIFO got more than it holds, which credits rule out."""


@compiled
def append(m: Any, entry: int, now_fs: int) -> None:
    """A reply from its slice."""
    which = m.q_reply + node(m.nodes, entry).slice
    if queue(m.queues, which).count >= m.reply_capacity:
        m.error = FIFO_OVERFLOW
    node(m.nodes, entry).key = now_fs
    order.append(m, which, entry)
    m.replies_inside += 1
    enter(m, m.meter_crossbar + 1, now_fs)


@compiled
def append_late(m: Any, entry: int, cycle: int) -> None:
    """A reply that leaves the partition link at `cycle` and then joins the FIFO of its slice."""
    m.late_number += 1
    m.late = pushed(m, m.late, entry, cycle, m.late_number)


@inlined
def next_cycle(m: Any, cycle: int) -> int:
    """The next cycle with work."""
    if m.replies_inside:
        return cycle + 1
    return node(m.nodes, m.late).key if m.late >= 0 else NEVER


@compiled
def _propose(m: Any, slice_id: int, place: int, cycle: int) -> int:
    """The first place of a FIFO's window, from `place` on, whose port is free; −1 for none."""
    fifo = queue(m.queues, m.q_reply + slice_id)
    window = min(m.lookahead, fifo.count)
    entry = fifo.head
    for at in range(window):
        if at >= place and load(m.reply_free, node(m.nodes, entry).sm) <= cycle:
            return at
        entry = node(m.nodes, entry).next
    return -1


@compiled
def _entry_at(m: Any, slice_id: int, place: int) -> int:
    entry = queue(m.queues, m.q_reply + slice_id).head
    for _ in range(place):
        entry = node(m.nodes, entry).next
    return entry


@compiled
def _withdraw(m: Any, slice_id: int, place: int) -> int:
    """Take the entry at a place out of a FIFO."""
    fifo = queue(m.queues, m.q_reply + slice_id)
    entry = fifo.head
    if place == 0:
        fifo.head = node(m.nodes, entry).next
    else:
        before = _entry_at(m, slice_id, place - 1)
        entry = node(m.nodes, before).next
        node(m.nodes, before).next = node(m.nodes, entry).next
        if fifo.tail == entry:
            fifo.tail = before
    fifo.count -= 1
    return entry


@compiled
def _grant(m: Any, sm: int, cycle: int, now_fs: int) -> None:
    """Let the packet leave that an SM's port has chosen."""
    slice_id = load(m.proposal, sm)
    entry = _withdraw(m, slice_id, load(m.proposal_place, sm))
    store(m.proposal, sm, -1)
    leave(m, m.meter_crossbar + 1, now_fs, node(m.nodes, entry).key)
    m.replies_inside -= 1
    payload = node(m.nodes, entry).payload
    store(m.reply_free, sm, cycle + max(1, quotient(payload + m.reply_bytes - 1, m.reply_bytes)))
    store(m.turn, sm, (slice_id + 1) % m.slices)
    crossed = crosses(m, sm, slice_id)
    pass_on(m, entry, 1 + sm, ANSWERS, m.at_sms_fs, REPLY)
    # A credit goes to the slice in the time in which the reply came.
    arrival_fs = now_fs + m.slice_to_crossbar_fs
    send_notice(m, owner(m, slice_id), arrival_fs, REPLY_CREDIT, slice_id, crossed)


@compiled
def _round(m: Any, pending: int, cycle: int, now_fs: int) -> int:
    """One round of proposals and grants among `pending` slices; how many lost and may try again."""
    proposed = 0
    lost = 0
    for turn in range(pending):
        slice_id = load(m.contenders, 2 * turn)
        place = _propose(m, slice_id, load(m.contenders, 2 * turn + 1), cycle)
        if place < 0:
            continue
        sm = node(m.nodes, _entry_at(m, slice_id, place)).sm
        rival = load(m.proposal, sm)
        first = load(m.turn, sm)
        if rival < 0:
            store(m.proposed, proposed, sm)
            proposed += 1
        elif (slice_id - first) % m.slices < (rival - first) % m.slices:
            store(m.losers, 2 * lost, rival)
            store(m.losers, 2 * lost + 1, load(m.proposal_place, sm) + 1)
            lost += 1
        else:
            store(m.losers, 2 * lost, slice_id)
            store(m.losers, 2 * lost + 1, place + 1)
            lost += 1
            continue
        store(m.proposal, sm, slice_id)
        store(m.proposal_place, sm, place)
    for turn in range(proposed):
        _grant(m, load(m.proposed, turn), cycle, now_fs)
    for turn in range(2 * lost):
        store(m.contenders, turn, load(m.losers, turn))
    return lost


@compiled
def arbitrate(m: Any, cycle: int, now_fs: int) -> None:
    """Send the packets that leave for their SMs in this cycle."""
    while m.late >= 0 and node(m.nodes, m.late).key <= cycle:
        entry = m.late
        m.late = popped(m, entry)
        append(m, entry, now_fs)
    pending = 0
    if m.replies_inside:
        for slice_id in range(m.slices):
            if queue(m.queues, m.q_reply + slice_id).count:
                store(m.contenders, 2 * pending, slice_id)
                store(m.contenders, 2 * pending + 1, 0)
                pending += 1
    while pending:
        pending = _round(m, pending, cycle, now_fs)

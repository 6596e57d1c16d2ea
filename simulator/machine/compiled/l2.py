"""An L2 slice: input queues, one look-up a cycle, then the replies.

The machine of the reference engine's file of this name. An entry of an input queue has the packet as item and
its time of arrival as key.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import mark
from simulator.machine.compiled.inbox import REST, send_to_crossbar
from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.l2_atomics import atomic
from simulator.machine.compiled.l2_misses import INPUT_METER, LINK_METER, find, meter_of
from simulator.machine.compiled.l2_output import CROSSINGS, REQUESTS, next_cycle, queue_of
from simulator.machine.compiled.l2_output import step as step_output
from simulator.machine.compiled.l2_reads import read
from simulator.machine.compiled.l2_tags import slot_of
from simulator.machine.compiled.l2_writes import write
from simulator.machine.compiled.layout import P_NODES, P_PACKETS, node, packet, queue
from simulator.machine.compiled.layout_memory import l2_line, miss, slice_at
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.order import dequeue, enqueue
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.routing import owner
from simulator.machine.messages import READ, SLICE_CREDIT, WRITE
from simulator.machine.order import NEVER
from simulator.machine.state_l2 import FREE, NOTHING, OUTPUT
from simulator.statistics.phases import CROSSBAR_REQUEST, PARTITION_LINK

QUEUE_OVERFLOW = 100
"""Error: an input queue got more than it holds, which credits rule out."""


@inlined
def arrive(m: Any, index: int, cycle: int, now_fs: int) -> None:
    """A request of an SM."""
    one = packet(m.packets, index)
    mark(one, CROSSBAR_REQUEST, now_fs)
    which = queue_of(m, one.slice, REQUESTS)
    if queue(m.queues, which).count >= m.l2_queue_depth:
        m.error = QUEUE_OVERFLOW
    enqueue(m, which, index, now_fs)
    enter(m, meter_of(m, one.slice, INPUT_METER), now_fs)
    state = slice_at(m.slice_states, one.slice)
    state.due = min(state.due, cycle)


@inlined
def arrive_crossing(m: Any, index: int, cycle: int, now_fs: int) -> None:
    """A request of the other partition; its MSHR there bounds how many there can be."""
    one = packet(m.packets, index)
    mark(one, PARTITION_LINK, now_fs)
    enqueue(m, queue_of(m, one.slice, CROSSINGS), index, now_fs)
    enter(m, meter_of(m, one.slice, LINK_METER), now_fs)
    state = slice_at(m.slice_states, one.slice)
    state.due = min(state.due, cycle)


@inlined
def credit(m: Any, slice_id: int, crossed: int, cycle: int) -> None:
    """A place in the crossbar's reply FIFO."""
    state = slice_at(m.slice_states, slice_id)
    state.credits[crossed] += 1
    if state.blocked:
        state.due = min(state.due, cycle)


@compiled
def invalidate(m: Any, index: int) -> None:
    """Drop copies of sectors that were written at their home."""
    one = packet(m.packets, index)
    slot = slot_of(m, one.near, one.line)
    if slot != FREE:
        l2_line(m.l2_lines, slot).valid &= ~one.sectors
    entry = find(m, one.near, one.line, slot)
    if entry >= 0:
        holder = miss(m.misses, entry)
        holder.stale |= holder.pending & one.sectors
    give(m, P_PACKETS, index)


@compiled
def _serve(m: Any, slice_id: int, which: int, cycle: int, now_fs: int) -> int:
    """Look up the head of a queue if its time has come; whether it is done."""
    state = slice_at(m.slice_states, slice_id)
    head = queue(m.queues, queue_of(m, slice_id, which)).head
    if head < 0 or state.wake[which] > cycle:
        return 0
    state.wake[which] = NEVER
    index = node(m.nodes, head).what
    operation = packet(m.packets, index).operation
    if operation == READ:
        done = read(m, slice_id, which, index, cycle, now_fs)
    elif operation == WRITE:
        done = write(m, slice_id, which, index, cycle, now_fs)
    else:
        done = atomic(m, slice_id, which, index, cycle, now_fs)
    if not done:
        return 0
    entered_fs = node(m.nodes, head).key
    give(m, P_NODES, dequeue(m, queue_of(m, slice_id, which)))
    state.wake[which] = 0
    state.cause[which] = NOTHING
    if which == CROSSINGS:
        leave(m, meter_of(m, slice_id, LINK_METER), now_fs, entered_fs)
    else:
        leave(m, meter_of(m, slice_id, INPUT_METER), now_fs, entered_fs)
        at = cycle + m.slice_to_crossbar
        send_to_crossbar(m, owner(m, slice_id), REST, at, SLICE_CREDIT, slice_id)
    return 1


@compiled
def _look_up(m: Any, slice_id: int, cycle: int, now_fs: int) -> None:
    """Serve the older head, or the other one when the older can't be served."""
    first = REQUESTS
    requests = queue(m.queues, queue_of(m, slice_id, REQUESTS)).head
    crossings = queue(m.queues, queue_of(m, slice_id, CROSSINGS)).head
    if crossings >= 0 and not (requests >= 0 and node(m.nodes, requests).key < node(m.nodes, crossings).key):
        first = CROSSINGS
    if not _serve(m, slice_id, first, cycle, now_fs):
        _serve(m, slice_id, REQUESTS + CROSSINGS - first, cycle, now_fs)


@compiled
def step(m: Any, slice_id: int, cycle: int, now_fs: int) -> None:
    """One cycle: a look-up if one can be done, then the replies; sets the next due cycle."""
    state = slice_at(m.slice_states, slice_id)
    if state.port_free <= cycle:
        _look_up(m, slice_id, cycle, now_fs)
    if step_output(m, slice_id, cycle) and state.cause[REQUESTS] == OUTPUT:
        state.wake[REQUESTS] = 0
    following = next_cycle(m, slice_id, cycle)
    for which in range(2):
        if queue(m.queues, queue_of(m, slice_id, which)).count and state.wake[which] < NEVER:
            following = min(following, max(cycle + 1, state.port_free, state.wake[which]))
    state.due = following

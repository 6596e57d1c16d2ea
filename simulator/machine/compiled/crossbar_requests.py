"""The request network of the crossbar: the in-ports of the SMs, a virtual output queue for each slice, the
slices' ports.

The machine of the reference engine's file of this name. When a slice may take its next packet stands in a
table by slice, which a tick looks through.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.inbox import REQUESTS, pass_on, send_notice
from simulator.machine.compiled.jit import compiled, inlined, load, quotient, store
from simulator.machine.compiled.layout import node
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.order import first_key, insert, pull
from simulator.machine.compiled.routing import distance, owner
from simulator.machine.messages import REQUEST, SM_CREDIT
from simulator.machine.order import NEVER


@compiled
def accept(m: Any, one: Any, cycle: int) -> int:
    """Pass a packet through its SM's port; the cycle in which it passes."""
    start = max(cycle, load(m.port_free, one.sm))
    store(m.port_free, one.sm, start + max(1, quotient(one.payload + m.request_bytes - 1, m.request_bytes)))
    return start


@inlined
def _arm(m: Any, slice_id: int, cycle: int) -> None:
    """Note when the slice may take its next packet, unless an earlier time is noted."""
    first = first_key(m, m.q_request + slice_id)
    if first == NEVER or load(m.slice_credits, slice_id) == 0:
        return
    time = max(first, load(m.slice_free, slice_id), cycle)
    if time < load(m.armed, slice_id):
        store(m.armed, slice_id, time)
        m.requests_due = min(m.requests_due, time)


@compiled
def join(m: Any, entry: int, start: int, cycle: int, now_fs: int) -> None:
    """Put a packet that is through its port (and the link) at cycle `start` in line for its slice."""
    one = node(m.nodes, entry)
    m.request_number += 1
    one.extra = now_fs
    ready = start + distance(m, one.sm, one.slice)
    insert(m, m.q_request + one.slice, entry, ready, m.request_number)
    enter(m, m.meter_crossbar, now_fs)
    _arm(m, one.slice, cycle)


@compiled
def credit(m: Any, slice_id: int, cycle: int) -> None:
    """A place that a slice's input queue has given back."""
    store(m.slice_credits, slice_id, load(m.slice_credits, slice_id) + 1)
    _arm(m, slice_id, cycle)


@compiled
def _forward(m: Any, slice_id: int, cycle: int, now_fs: int) -> int:
    """Send the first packet of a queue to its slice; its SM."""
    entry = pull(m, m.q_request + slice_id)
    one = node(m.nodes, entry)
    sm = one.sm
    leave(m, m.meter_crossbar, now_fs, one.extra)
    store(m.slice_credits, slice_id, load(m.slice_credits, slice_id) - 1)
    width = m.slice_request_bytes
    store(m.slice_free, slice_id, cycle + max(1, quotient(one.payload + width - 1, width)))
    _arm(m, slice_id, cycle)
    pass_on(m, entry, owner(m, slice_id), REQUESTS, now_fs + m.crossbar_to_slice_fs, REQUEST)
    return sm


@compiled
def arbitrate(m: Any, cycle: int, now_fs: int) -> None:
    """Send the packets that leave for their slices in this cycle, and give their SMs the credits back."""
    if m.requests_due > cycle:
        return
    first = m.sms
    last = -1
    for slice_id in range(m.slices):
        if load(m.armed, slice_id) <= cycle:
            store(m.armed, slice_id, NEVER)
            sm = _forward(m, slice_id, cycle, now_fs)
            store(m.returned, sm, load(m.returned, sm) + 1)
            first = min(first, sm)
            last = max(last, sm)
    for sm in range(first, last + 1):
        free = load(m.returned, sm)
        if free:
            store(m.returned, sm, 0)
            send_notice(m, 1 + sm, m.at_sms_fs, SM_CREDIT, free, 0)
    due = NEVER
    for slice_id in range(m.slices):
        due = min(due, load(m.armed, slice_id))
    m.requests_due = due

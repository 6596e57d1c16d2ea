"""The crossbar between SMs and L2 slices: one component with a request network, a reply network and the
partition link.

A tick consumes what has arrived, lets packets onto the partition link, arbitrates requests, then replies.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import crossbar_replies, crossbar_requests, partition_link
from simulator.machine.compiled.counts import count, mark
from simulator.machine.compiled.inbox import (
    CROSSINGS,
    arrived_at_crossbar,
    entry_of,
    pass_on,
    pass_through,
    send_notice,
    settle_crossbar,
)
from simulator.machine.compiled.jit import compiled, load, quotient
from simulator.machine.compiled.layout import component, message, node, packet
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.compiled.routing import crosses, owner, side_of
from simulator.machine.messages import (
    ACK,
    LINK_INVALIDATE,
    LINK_REPLY,
    LINK_REQUEST,
    REPLY,
    REQUEST,
    SLICE_CREDIT,
)
from simulator.machine.order import NEVER
from simulator.statistics.phases import CROSSBAR_REPLY, CROSSBAR_REQUEST, PARTITION_LINK
from simulator.statistics.schema import INDEX

C_LINK_BYTES = INDEX["link_bytes"]


@compiled
def _request(m: Any, entry: int, cycle: int, now_fs: int) -> None:
    one = node(m.nodes, entry)
    start = crossbar_requests.accept(m, one, cycle)
    if crosses(m, one.sm, one.slice):
        mark(packet(m.packets, one.what), CROSSBAR_REQUEST, start * m.l2_period_fs)
        partition_link.add(m, load(m.partition_of_sm, one.sm), start, entry)
    else:
        crossbar_requests.join(m, entry, start, cycle, now_fs)


@compiled
def _reply(m: Any, entry: int, cycle: int, now_fs: int) -> None:
    one = node(m.nodes, entry)
    if crosses(m, one.sm, one.slice):
        mark(packet(m.packets, one.what), CROSSBAR_REPLY, now_fs)
        partition_link.add(m, side_of(m, one.slice), cycle, entry)
    else:
        crossbar_replies.append(m, entry, now_fs)


@compiled
def _consume(m: Any, cycle: int, now_fs: int) -> None:
    while True:
        at = arrived_at_crossbar(m, cycle)
        if at < 0:
            return
        one = message(m.messages, at)
        kind = one.kind
        if kind == REQUEST:
            _request(m, entry_of(m, at), cycle, now_fs)
        elif kind == REPLY:
            _reply(m, entry_of(m, at), cycle, now_fs)
        elif kind == ACK:
            send_notice(m, 1 + one.sm, m.at_sms_fs, ACK, one.what, one.extra)
        elif kind == SLICE_CREDIT:
            crossbar_requests.credit(m, one.what, cycle)
        elif kind == LINK_REQUEST:
            pass_through(m, at, owner(m, one.slice), CROSSINGS, now_fs + m.crossing_out_fs)
        elif kind == LINK_INVALIDATE:
            to = owner(m, packet(m.packets, one.what).near)
            pass_through(m, at, to, CROSSINGS, now_fs + m.crossing_out_fs)
        else:
            partition_link.add(m, side_of(m, one.slice), cycle, entry_of(m, at))


@compiled
def _cross(m: Any, cycle: int, now_fs: int) -> None:
    """Let packets onto the partition link."""
    while True:
        entry = partition_link.depart(m, cycle)
        if entry < 0:
            return
        kind = node(m.nodes, entry).kind
        one = packet(m.packets, node(m.nodes, entry).what)
        count(m, one.kernel, C_LINK_BYTES, one.payload)
        if kind == LINK_REPLY:
            # Its two messages carry the latency of the crossing.
            pass_on(m, entry, owner(m, one.near), CROSSINGS, now_fs + m.crossing_out_fs, kind)
            continue
        arrival = cycle + m.crossing_cycles
        mark(one, PARTITION_LINK, arrival * m.l2_period_fs)
        if kind == REQUEST:
            crossbar_requests.join(m, entry, arrival, cycle, now_fs)
        else:
            crossbar_replies.append_late(m, entry, arrival)


@compiled
def tick(m: Any, _ident: int, now_fs: int) -> None:
    """All phases of one cycle."""
    cycle = quotient(now_fs, m.l2_period_fs)
    period = m.sm_period_fs
    m.at_sms_fs = quotient(now_fs + m.crossbar_to_sm_fs + period - 1, period) * period
    _consume(m, cycle, now_fs)
    following = NEVER
    if partition_link.is_busy(m):
        _cross(m, cycle, now_fs)
        following = partition_link.next_cycle(m, cycle)
    crossbar_requests.arbitrate(m, cycle, now_fs)
    following = min(following, m.requests_due)
    if m.replies_inside or m.late >= 0:
        crossbar_replies.arbitrate(m, cycle, now_fs)
        following = min(following, crossbar_replies.next_cycle(m, cycle))
    settle_crossbar(m, cycle, following)


def turn(here: int, ident: int, end_fs: int) -> int:
    """All ticks of a component up to the end of its turn."""
    m = machine_at(here, 0)
    own = component(m.components, ident)
    while own.next_fs < end_fs:
        own.ticked_fs = own.next_fs
        tick(m, ident, own.next_fs)
    return 0

"""Messages between components. One goes straight into the inbox of its receiver: none arrives before the
turn ends in which it was sent, so no receiver can see it too early.

An inbox is a tape for each way on which messages come in the order in which they were sent. What arrives
at once on different ways has no order that could be seen but for a launch, which comes first. The crossbar
hears from many at once: it has an inbox for each cycle, whose messages are sorted by sender and then by the
order of sending; and where several workers may speak to it at once, each has a part for itself, as it has of
the launcher's.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout import P_NODES, component, message, node, ordered, packet, tape
from simulator.machine.compiled.order import first_key, insert, pull
from simulator.machine.compiled.pools import give, take
from simulator.machine.compiled.tapes import pass_by, put, put_in_order
from simulator.machine.messages import BLOCK_DONE
from simulator.machine.order import NEVER

SOURCE_SHIFT = 44
"""A message's place among those of equal arrival: source above this bit, sequence number below."""
WAYS = 3
"""Tapes of an inbox of an SM or a memory partition."""
LAUNCHES, ANSWERS = range(2)
"""The ways to an SM: from the launcher, and from the crossbar."""
REQUESTS, CROSSINGS = range(2)
"""The ways to a memory partition."""
NOTICES = 2
"""The way of credits and acknowledgements to either: one that nobody waits for brings about no tick, and is
taken at the next one, or at the end of the turn.
"""
FROM_SMS, TO_SMS, OVER_LINK, REST = range(4)
"""The ways to the crossbar: requests, replies, and replies to the other L2 partition. Whatever else comes
from memory partitions has no order that could be seen, but for that of acknowledgements where all requests
are kept.
"""
WAYS_TO_CROSSBAR = 4
LAUNCHER = 0
"""The grid launcher is component 0."""
WHEEL_OVERFLOW = 104
"""Error: a message to the crossbar is under way longer than its inbox reaches."""


# --- sending ------------------------------------------------------------------------------------------------


@inlined
def send(m: Any, target: int, way: int, arrival_fs: int, kind: int, item: int, extra: int) -> int:
    """Send a message to an SM or a memory partition, to arrive at an edge of its clock; its place, for those
    that say more.
    """
    receiver = component(m.components, target)
    receiver.next_fs = min(receiver.next_fs, arrival_fs)
    receiver.arrival_fs = min(receiver.arrival_fs, arrival_fs)
    at = put(m, m.q_inbox + WAYS * target + way, arrival_fs)
    one = message(m.messages, at)
    one.kind = kind
    one.what = item
    one.extra = extra
    return at


@inlined
def send_notice(m: Any, target: int, arrival_fs: int, kind: int, item: int, extra: int) -> None:
    """Send a notice to an SM or a memory partition."""
    receiver = component(m.components, target)
    receiver.notice_fs = min(receiver.notice_fs, arrival_fs)
    if receiver.wants_notice:
        receiver.next_fs = min(receiver.next_fs, arrival_fs)
    one = message(m.messages, put(m, m.q_inbox + WAYS * target + NOTICES, arrival_fs))
    one.kind = kind
    one.what = item
    one.extra = extra


@inlined
def _hand_on(m: Any, about: Any, target: int, way: int, arrival_fs: int, kind: int) -> None:
    one = message(m.messages, send(m, target, way, arrival_fs, kind, about.what, about.extra))
    one.line = about.line
    one.slice = about.slice


@inlined
def pass_on(m: Any, entry: int, target: int, way: int, arrival_fs: int, kind: int) -> None:
    """Let the crossbar hand a packet on that has waited there; its entry is free again."""
    _hand_on(m, node(m.nodes, entry), target, way, arrival_fs, kind)
    give(m, P_NODES, entry)


@inlined
def pass_through(m: Any, at: int, target: int, way: int, arrival_fs: int) -> None:
    """The same with one that need not wait, by the message that brought it."""
    one = message(m.messages, at)
    _hand_on(m, one, target, way, arrival_fs, one.kind)


@inlined
def describe(one: Any, about: Any, name: int) -> None:
    """Let a message or an entry say what the crossbar must know of a packet, taken from the packet or from
    another that says it; `name` is the requester's name for it.
    """
    one.extra = name
    one.line = about.line
    one.payload = about.payload
    one.sm = about.sm
    one.slice = about.slice


@inlined
def send_to_crossbar(m: Any, source: int, way: int, cycle: int, kind: int, item: int) -> int:
    """Send a message to the crossbar, to arrive in a cycle of its clock; its place, for those that say
    more.
    """
    sender = component(m.components, source)
    sender.sequence += 1
    arrival_fs = cycle * m.l2_period_fs
    m.wheel_count += 1
    m.crossbar_next = min(m.crossbar_next, arrival_fs)
    if arrival_fs - m.middle_fs > m.wheel_fs:
        m.error = WHEEL_OVERFLOW
    which = m.q_wheel + WAYS_TO_CROSSBAR * (cycle & (m.wheel_size - 1)) + way
    key = source << SOURCE_SHIFT | sender.sequence
    sorts = way != REST or m.keep_requests
    at = put_in_order(m, which, key) if sorts else put(m, which, key)
    message(m.messages, at).kind = kind
    message(m.messages, at).what = item
    return at


@compiled
def send_packet(m: Any, source: int, way: int, cycle: int, kind: int, index: int) -> None:
    """The same with a packet; the message says all that the crossbar must know of it, which lies far off by
    then.
    """
    about = packet(m.packets, index)
    one = message(m.messages, send_to_crossbar(m, source, way, cycle, kind, index))
    describe(one, about, about.token)


@compiled
def send_entry(m: Any, source: int, way: int, cycle: int, kind: int, entry: int) -> None:
    """The same by an entry that says all this already, and is free again."""
    about = node(m.nodes, entry)
    one = message(m.messages, send_to_crossbar(m, source, way, cycle, kind, about.what))
    describe(one, about, about.extra)
    give(m, P_NODES, entry)


@compiled
def send_to_launcher(m: Any, source: int, now_fs: int, block: int) -> None:
    """Tell the launcher that a block has ended."""
    sender = component(m.components, source)
    sender.sequence += 1
    period = m.sm_period_fs
    arrival_fs = (now_fs + m.block_done_fs + period - 1) // period * period
    m.launcher_next = min(m.launcher_next, arrival_fs)
    entry = take(m, P_NODES)
    node(m.nodes, entry).kind = BLOCK_DONE
    node(m.nodes, entry).what = block
    insert(m, m.q_launcher, entry, arrival_fs, source << SOURCE_SHIFT | sender.sequence)


# --- receiving ----------------------------------------------------------------------------------------------


@inlined
def entry_of(m: Any, at: int) -> int:
    """An entry that says what a message to the crossbar does."""
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    about = message(m.messages, at)
    one.what = about.what
    describe(one, about, about.extra)
    one.kind = about.kind
    return entry


@compiled
def arrived(m: Any, ident: int, now_fs: int) -> int:
    """The place of the next message of an SM or a memory partition that has arrived, taken out of the inbox,
    or −1.
    """
    own = component(m.components, ident)
    if own.arrival_fs > now_fs:
        return -1
    first = m.q_inbox + WAYS * ident
    earliest = NEVER
    for which in range(first, first + NOTICES):
        at_fs = tape(m.tapes, which).first
        if at_fs <= now_fs:
            return pass_by(m, which)
        earliest = min(earliest, at_fs)
    own.arrival_fs = earliest
    return -1


@inlined
def arrived_notice(m: Any, ident: int, before_fs: int) -> int:
    """The place of the next notice of an SM or a memory partition that arrives before a time, taken out, or
    −1.
    """
    own = component(m.components, ident)
    if own.notice_fs >= before_fs:
        return -1
    which = m.q_inbox + WAYS * ident + NOTICES
    own.ticked_fs = max(own.ticked_fs, own.notice_fs)
    at = pass_by(m, which)
    own.notice_fs = tape(m.tapes, which).first
    return at


@compiled
def arrived_at_launcher(m: Any, now_fs: int) -> int:
    """The entry of the next message of the launcher that has arrived, taken out, or −1."""
    best = -1
    for which in range(m.q_launcher, m.q_launcher + m.workers):
        one = ordered(m.ordered, which)
        if one.first <= now_fs and (best < 0 or one.first < ordered(m.ordered, best).first):
            best = which
    return pull(m, best) if best >= 0 else -1


@compiled
def arrived_at_crossbar(m: Any, cycle: int) -> int:
    """The place of the next message to the crossbar that has arrived in this cycle, taken out, or −1."""
    first = m.q_wheel + WAYS_TO_CROSSBAR * (cycle & (m.wheel_size - 1))
    stride = WAYS_TO_CROSSBAR * m.wheel_size
    last = first + stride * m.workers
    for which in range(first, last, stride):
        if tape(m.tapes, which + FROM_SMS).first < NEVER:
            return _taken(m, which + FROM_SMS)
    for which in range(first, last, stride):
        one = tape(m.tapes, which + TO_SMS).first
        other = tape(m.tapes, which + OVER_LINK).first
        if one < NEVER or other < NEVER:
            return _taken(m, which + (TO_SMS if one < other else OVER_LINK))
    for which in range(first, last, stride):
        if tape(m.tapes, which + REST).first < NEVER:
            return _taken(m, which + REST)
    return -1


@inlined
def _taken(m: Any, which: int) -> int:
    m.wheel_count -= 1
    return pass_by(m, which)


# --- time ---------------------------------------------------------------------------------------------------


@inlined
def settle_next(m: Any, ident: int, following_fs: int, wants_notice: int) -> None:
    """Note when an SM or a memory partition ticks next: at its own time, or at the next arrival of a message,
    among which notices count only when something waits for one.
    """
    own = component(m.components, ident)
    own.next_fs = min(following_fs, own.arrival_fs)
    own.wants_notice = wants_notice
    if wants_notice:
        own.next_fs = min(own.next_fs, own.notice_fs)


@compiled
def settle_launcher(m: Any, following_fs: int) -> None:
    """The same for the launcher."""
    for which in range(m.q_launcher, m.q_launcher + m.workers):
        following_fs = min(following_fs, first_key(m, which))
    component(m.components, LAUNCHER).next_fs = min(following_fs, NEVER)


@compiled
def settle_crossbar(m: Any, cycle: int, following: int) -> None:
    """The same for the crossbar, in cycles."""
    if m.wheel_count:
        at = cycle + 1
        while at < following:
            for worker in range(m.workers):
                place = worker * m.wheel_size + (at & (m.wheel_size - 1))
                first = m.q_wheel + WAYS_TO_CROSSBAR * place
                for which in range(first, first + WAYS_TO_CROSSBAR):
                    if tape(m.tapes, which).first < NEVER:
                        following = at
            at += 1
    component(m.components, m.crossbar).next_fs = following * m.l2_period_fs if following < NEVER else NEVER

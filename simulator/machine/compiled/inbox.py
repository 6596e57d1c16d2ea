"""Messages between components. One goes straight into the inbox of its receiver: none arrives before the
turn ends in which it was sent, so no receiver can see it too early.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout import P_NODES, component, node, ordered, packet
from simulator.machine.compiled.order import first_key, insert, pull
from simulator.machine.compiled.pools import give, take, take_off
from simulator.machine.messages import ACK, REPLY_CREDIT
from simulator.machine.order import NEVER

SOURCE_SHIFT = 44
"""A message's place among those of equal arrival: source above this bit, sequence number below."""
WAYS = 3
"""Queues of an inbox, or of a worker's part of one."""
LAUNCHER = 0
"""The grid launcher is component 0."""
WHEEL_OVERFLOW = 104
"""Error: a message to the crossbar is under way longer than its inbox reaches."""


@inlined
def _message_to(m: Any, target: int) -> int:
    """A free entry from its receiver's shelf, to which it will return: so the receiver's messages lie close
    together. The receivers to which several workers may speak at once are the main worker's.
    """
    if m.worker and target in (m.crossbar, LAUNCHER):
        return take(m, P_NODES)
    return take_off(m, target * m.pool_count + P_NODES, P_NODES)


@inlined
def _way(m: Any, source: int, kind: int) -> int:
    """The queue of an inbox that a message goes to. On each way messages come nearly in order."""
    if kind in (ACK, REPLY_CREDIT):
        return 2
    return 1 if source > m.crossbar else 0


@compiled
def send(
    m: Any, source: int, target: int, now_fs: int, delay_fs: int, kind: int, item: int, extra: int
) -> None:
    """Hand a message to a link; it arrives at the receiver's first edge at or after `now_fs + delay_fs`.

    The launcher and the crossbar have an inbox for each worker, since several may write to them at once.
    """
    entry = _message_to(m, target)
    one = node(m.nodes, entry)
    one.what = item
    one.extra = extra
    _post(m, entry, source, target, now_fs, delay_fs, kind)


@compiled
def send_packet(m: Any, source: int, target: int, now_fs: int, delay_fs: int, kind: int, index: int) -> None:
    """The same with a packet; the entry says all that the crossbar must know of it, which lies far off by
    then.
    """
    about = packet(m.packets, index)
    entry = _message_to(m, target)
    one = node(m.nodes, entry)
    one.what = index
    one.extra = about.token
    one.line = about.line
    one.payload = about.payload
    one.sm = about.sm
    one.slice = about.slice
    _post(m, entry, source, target, now_fs, delay_fs, kind)


@compiled
def pass_on(m: Any, entry: int, target: int, now_fs: int, delay_fs: int, kind: int) -> None:
    """Let the crossbar hand a packet on, with the entry that brought it."""
    before = node(m.nodes, entry)
    following = _message_to(m, target)
    one = node(m.nodes, following)
    one.what = before.what
    one.extra = before.extra
    one.line = before.line
    one.payload = before.payload
    one.sm = before.sm
    one.slice = before.slice
    give(m, P_NODES, entry)
    _post(m, following, m.crossbar, target, now_fs, delay_fs, kind)


@compiled
def _post(m: Any, entry: int, source: int, target: int, now_fs: int, delay_fs: int, kind: int) -> None:
    sender = component(m.components, source)
    receiver = component(m.components, target)
    period = receiver.period_fs
    cycle = (now_fs + delay_fs + period - 1) // period
    arrival = cycle * period
    sender.sequence += 1
    node(m.nodes, entry).kind = kind
    if target == m.crossbar:
        which = m.q_wheel + WAYS * (cycle & (m.wheel_size - 1)) + _way(m, source, kind)
        m.wheel_count += 1
        m.crossbar_next = min(m.crossbar_next, arrival)
        if arrival - m.middle_fs > m.wheel_fs:
            m.error = WHEEL_OVERFLOW
    elif target == LAUNCHER:
        which = m.q_launcher
        m.launcher_next = min(m.launcher_next, arrival)
    else:
        which = m.q_inbox + WAYS * target + _way(m, source, kind)
        receiver.next_fs = min(receiver.next_fs, arrival)
        receiver.arrival_fs = min(receiver.arrival_fs, arrival)
    insert(m, which, entry, arrival, source << SOURCE_SHIFT | sender.sequence)


@inlined
def _earliest(m: Any, first: int, ways: int, stride: int, groups: int) -> int:
    """Of some groups of queues, the one whose head is the earliest; −1 when all are empty."""
    best = -1
    key = NEVER
    order = 0
    for group in range(groups):
        for which in range(first + stride * group, first + stride * group + ways):
            one = ordered(m.ordered, which)
            if one.first < key or (best >= 0 and one.first == key and one.first_order < order):
                best = which
                key = one.first
                order = one.first_order
    return best


@compiled
def arrived(m: Any, ident: int, now_fs: int) -> int:
    """The next message of an SM or a memory partition that has arrived, taken out of the inbox, or −1."""
    own = component(m.components, ident)
    if own.arrival_fs > now_fs:
        return -1
    first = m.q_inbox + WAYS * ident
    entry = pull(m, _earliest(m, first, WAYS, 0, 1))
    own.arrival_fs = NEVER
    for which in range(first, first + WAYS):
        own.arrival_fs = min(own.arrival_fs, first_key(m, which))
    return entry


@compiled
def arrived_at_launcher(m: Any, now_fs: int) -> int:
    """The same for the launcher."""
    which = _earliest(m, m.q_launcher, 1, 1, m.workers)
    if which < 0 or first_key(m, which) > now_fs:
        return -1
    return pull(m, which)


@compiled
def arrived_at_crossbar(m: Any, cycle: int) -> int:
    """The next message to the crossbar that has arrived in this cycle, taken out, or −1."""
    first = m.q_wheel + WAYS * (cycle & (m.wheel_size - 1))
    which = _earliest(m, first, WAYS, WAYS * m.wheel_size, m.workers)
    if which < 0:
        return -1
    m.wheel_count -= 1
    return pull(m, which)


@compiled
def settle_next(m: Any, ident: int, following_fs: int) -> None:
    """Note when an SM or a memory partition ticks next: at its own time or at the next arrival."""
    own = component(m.components, ident)
    own.next_fs = min(following_fs, own.arrival_fs)


@compiled
def settle_launcher(m: Any, following_fs: int) -> None:
    """The same for the launcher."""
    for which in range(m.q_launcher, m.q_launcher + m.workers):
        following_fs = min(following_fs, first_key(m, which))
    component(m.components, LAUNCHER).next_fs = min(following_fs, NEVER)


@compiled
def settle_crossbar(m: Any, cycle: int, following: int) -> None:
    """The same for the crossbar, in cycles: its inbox is a wheel of inboxes by cycle of arrival."""
    if m.wheel_count:
        at = cycle + 1
        while at < following:
            for worker in range(m.workers):
                first = m.q_wheel + WAYS * (worker * m.wheel_size + (at & (m.wheel_size - 1)))
                for which in range(first, first + WAYS):
                    if ordered(m.ordered, which).head >= 0:
                        following = at
            at += 1
    own = component(m.components, m.crossbar)
    own.next_fs = following * own.period_fs if following < NEVER else NEVER

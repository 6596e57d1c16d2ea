"""Messages between components, and the queues that everything waits in: chains and heaps of entries.

An entry is a record of one pool. A queue is a chain with two ends. A heap is a pairing heap: pushing links
the entry to the root, popping melds the root's children in pairs; it needs no place of its own, and the keys
are unique, so what comes out doesn't depend on what it looks like inside. A message goes straight into the
inbox of its receiver: none arrives before the window ends in which it was sent, so no receiver can see it too
early.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import P_NODES, component, node, pool, queue
from simulator.machine.order import NEVER

SOURCE_SHIFT = 44
"""A message's place among those of equal arrival: source above this bit, sequence number below."""


@inlined
def take(m: Any, which: int) -> int:
    """A free record of a pool; record 0, which nobody reads, and an error when there is none."""
    place = pool(m.pools, which)
    index = place.free
    if index < 0:
        m.error = 1 + which
        return 0
    place.free = load(place.address, index * place.stride)
    place.left -= 1
    return index


@inlined
def give(m: Any, which: int, index: int) -> None:
    """Give a record back to its pool."""
    place = pool(m.pools, which)
    store(place.address, index * place.stride, place.free)
    place.free = index
    place.left += 1


# --- queues -------------------------------------------------------------------------------------------------


@inlined
def append(m: Any, which: int, entry: int) -> None:
    """Put an entry at the end of a queue."""
    node(m.nodes, entry).next = -1
    line = queue(m.queues, which)
    if line.head < 0:
        line.head = entry
    else:
        node(m.nodes, line.tail).next = entry
    line.tail = entry
    line.count += 1


@inlined
def enqueue(m: Any, which: int, item: int, key: int) -> None:
    """Put a new entry at the end of a queue."""
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    one.what = item
    one.key = key
    append(m, which, entry)


@inlined
def dequeue(m: Any, which: int) -> int:
    """Take the first entry off a queue, which has one; it still belongs to the caller."""
    line = queue(m.queues, which)
    entry = line.head
    line.head = node(m.nodes, entry).next
    line.count -= 1
    return entry


# --- heaps --------------------------------------------------------------------------------------------------


@inlined
def meld(m: Any, a: int, b: int) -> int:
    """One heap of two, either of which may be −1."""
    if a < 0:
        return b
    if b < 0:
        return a
    first = node(m.nodes, a)
    second = node(m.nodes, b)
    if second.key < first.key or (second.key == first.key and second.order < first.order):
        first.next = second.child
        second.child = a
        return b
    second.next = first.child
    first.child = b
    return a


@inlined
def pushed(m: Any, root: int, entry: int, key: int, order: int) -> int:
    """The heap with one entry more."""
    one = node(m.nodes, entry)
    one.key = key
    one.order = order
    one.child = -1
    one.next = -1
    return meld(m, root, entry)


@compiled
def popped(m: Any, root: int) -> int:
    """The heap without its root, which still belongs to the caller."""
    left = node(m.nodes, root).child
    pairs = -1
    while left >= 0:
        a = left
        b = node(m.nodes, a).next
        if b < 0:
            node(m.nodes, a).next = pairs
            pairs = a
            break
        left = node(m.nodes, b).next
        both = meld(m, a, b)
        node(m.nodes, both).next = pairs
        pairs = both
    rest = -1
    while pairs >= 0:
        following = node(m.nodes, pairs).next
        rest = meld(m, rest, pairs)
        pairs = following
    return rest


# --- messages -----------------------------------------------------------------------------------------------


@compiled
def send(
    m: Any, source: int, target: int, now_fs: int, delay_fs: int, kind: int, item: int, extra: int
) -> None:
    """Hand a message to a link; it arrives at the receiver's first edge at or after `now_fs + delay_fs`."""
    sender = component(m.components, source)
    receiver = component(m.components, target)
    period = receiver.period_fs
    arrival = (now_fs + delay_fs + period - 1) // period * period
    sender.sequence += 1
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    one.kind = kind
    one.what = item
    one.extra = extra
    receiver.inbox = pushed(m, receiver.inbox, entry, arrival, source << SOURCE_SHIFT | sender.sequence)
    receiver.next_fs = min(receiver.next_fs, arrival)


@inlined
def arrived(m: Any, ident: int, now_fs: int) -> int:
    """The next message that has arrived, taken out of the inbox, or −1."""
    own = component(m.components, ident)
    entry = own.inbox
    if entry < 0 or node(m.nodes, entry).key > now_fs:
        return -1
    own.inbox = popped(m, entry)
    return entry


@inlined
def settle_next(m: Any, ident: int, following_fs: int) -> None:
    """Note when a component ticks next: at its own time or at the next arrival."""
    own = component(m.components, ident)
    if own.inbox >= 0:
        following_fs = min(following_fs, node(m.nodes, own.inbox).key)
    own.next_fs = min(following_fs, NEVER)

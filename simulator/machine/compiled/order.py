"""The queues that everything waits in: chains, sorted chains and heaps of entries.

An entry is a record of one pool. A queue is a chain with two ends; a sorted one is entered from its end,
since what comes is mostly the latest. A heap is a pairing heap: pushing links the entry to the root, popping
melds the root's children in pairs; it needs no place of its own, and the keys are unique, so what comes out
doesn't depend on what it looks like inside.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import ahead, compiled, inlined
from simulator.machine.compiled.layout import NODE, P_NODES, node, ordered, queue
from simulator.machine.compiled.pools import take
from simulator.machine.order import NEVER

ask_node = ahead(NODE)


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


# --- sorted queues ------------------------------------------------------------------------------------------


@compiled
def insert(m: Any, which: int, entry: int, key: int, order: int) -> None:
    """Put an entry into a sorted queue, whose entries know the one before them by `child`."""
    line = ordered(m.ordered, which)
    one = node(m.nodes, entry)
    one.key = key
    one.order = order
    before = line.tail if line.head >= 0 else -1
    after = -1
    if before >= 0 and (key < line.last or (key == line.last and order < line.last_order)):
        while before >= 0:
            other = node(m.nodes, before)
            if other.key < key or (other.key == key and other.order < order):
                break
            after = before
            before = other.child
    one.next = after
    one.child = before
    if before < 0:
        line.head = entry
        line.first = key
        line.first_order = order
    else:
        node(m.nodes, before).next = entry
    if after < 0:
        line.tail = entry
        line.last = key
        line.last_order = order
    else:
        node(m.nodes, after).child = entry
    line.count += 1


@inlined
def pull(m: Any, which: int) -> int:
    """Take the first entry off a sorted queue, which has one; it still belongs to the caller."""
    line = ordered(m.ordered, which)
    entry = line.head
    line.head = node(m.nodes, entry).next
    line.first = NEVER
    if line.head >= 0:
        one = node(m.nodes, line.head)
        one.child = -1
        line.first = one.key
        line.first_order = one.order
        # Its key is wanted when this one is taken.
        ask_node(m.nodes, one.next)
    line.count -= 1
    return entry


@inlined
def first_key(m: Any, which: int) -> int:
    """The key of the first entry of a sorted queue; NEVER where there is none."""
    return ordered(m.ordered, which).first


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

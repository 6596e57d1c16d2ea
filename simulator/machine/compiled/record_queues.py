"""Sorted queues of records that are their own entries: with fields `key`, `order`, `next` and `before`.

The same as in `order.py` without an entry beside each record. A queue is entered from its end, since what
comes is mostly the latest. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.machine.compiled.jit import accessor, ahead, compiled, inlined
from simulator.machine.compiled.layout import queue
from simulator.machine.order import NEVER

Insert = Callable[[Any, int, int, int, int, int], None]
Pull = Callable[[Any, int, int], int]


def sorted_queue(kind: np.dtype[Any]) -> tuple[Insert, Pull, Pull]:
    """For a type of record: the functions (machine, address of the table, queue, entry, key, order) that puts
    one into a queue, (machine, address, queue) that takes the first one off a queue, which has one, and with
    the same arguments that gives the key of the first one, NEVER where there is none.
    """
    at = accessor(kind)
    ask = ahead(kind)

    @compiled
    def insert(m: Any, table: int, which: int, entry: int, key: int, order: int) -> None:
        line = queue(m.queues, which)
        one = at(table, entry)
        one.key = key
        one.order = order
        before = line.tail if line.head >= 0 else -1
        after = -1
        while before >= 0:
            other = at(table, before)
            if other.key < key or (other.key == key and other.order < order):
                break
            after = before
            before = other.before
        one.next = after
        one.before = before
        if before < 0:
            line.head = entry
        else:
            at(table, before).next = entry
        if after < 0:
            line.tail = entry
        else:
            at(table, after).before = entry
        line.count += 1

    @inlined
    def pull(m: Any, table: int, which: int) -> int:
        line = queue(m.queues, which)
        entry = line.head
        line.head = at(table, entry).next
        if line.head >= 0:
            one = at(table, line.head)
            one.before = -1
            # What stands behind it will be looked at when it is taken.
            ask(table, one.next)
        line.count -= 1
        return entry

    @inlined
    def first_key(m: Any, table: int, which: int) -> int:
        head = queue(m.queues, which).head
        return at(table, head).key if head >= 0 else NEVER

    return insert, pull, first_key

"""Queues of transfers between L2 and DRAM: the same as in `order.py`, of records that are their own entries.

A sorted queue is entered from its end. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import ahead, compiled, inlined
from simulator.machine.compiled.layout import P_TRANSFERS, queue
from simulator.machine.compiled.layout_memory import TRANSFER, transfer_at
from simulator.machine.compiled.pools import take
from simulator.machine.order import NEVER

ask_transfer = ahead(TRANSFER)


@inlined
def append_transfer(m: Any, which: int, entry: int) -> None:
    """Put a transfer at the end of a queue."""
    transfer_at(m.transfers, entry).next = -1
    line = queue(m.queues, which)
    if line.head < 0:
        line.head = entry
    else:
        transfer_at(m.transfers, line.tail).next = entry
    line.tail = entry
    line.count += 1


@compiled
def insert_transfer(m: Any, which: int, entry: int, key: int, order: int) -> None:
    """Put a transfer into a sorted queue."""
    line = queue(m.queues, which)
    one = transfer_at(m.transfers, entry)
    one.key = key
    one.order = order
    before = line.tail if line.head >= 0 else -1
    after = -1
    while before >= 0:
        other = transfer_at(m.transfers, before)
        if other.key < key or (other.key == key and other.order < order):
            break
        after = before
        before = other.before
    one.next = after
    one.before = before
    if before < 0:
        line.head = entry
    else:
        transfer_at(m.transfers, before).next = entry
    if after < 0:
        line.tail = entry
    else:
        transfer_at(m.transfers, after).before = entry
    line.count += 1


@inlined
def pull_transfer(m: Any, which: int) -> int:
    """Take the first transfer off a queue, which has one."""
    line = queue(m.queues, which)
    entry = line.head
    line.head = transfer_at(m.transfers, entry).next
    if line.head >= 0:
        one = transfer_at(m.transfers, line.head)
        one.before = -1
        # What stands behind it will be looked at when it is taken.
        ask_transfer(m.transfers, one.next)
    line.count -= 1
    return entry


@compiled
def divide(m: Any, entry: int, sectors: int) -> int:
    """A transfer of its own for some sectors of one that stands in a queue and keeps the rest."""
    one = transfer_at(m.transfers, entry)
    one.sectors ^= sectors
    index = take(m, P_TRANSFERS)
    part = transfer_at(m.transfers, index)
    part.sectors = sectors
    part.sector = one.sector
    part.line = one.line
    part.where = one.where
    part.kernel = one.kernel
    part.entry = one.entry
    part.slot = one.slot
    part.slice = one.slice
    part.writes = one.writes
    part.arrive_fs = one.arrive_fs
    return index


@inlined
def first_transfer_key(m: Any, which: int) -> int:
    """The key of the first transfer of a sorted queue; NEVER where there is none."""
    head = queue(m.queues, which).head
    return transfer_at(m.transfers, head).key if head >= 0 else NEVER

"""Transfers between L2 and DRAM: the queues that they wait in, and how one is divided."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout import P_TRANSFERS, queue
from simulator.machine.compiled.layout_memory import TRANSFER, transfer_at
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.record_queues import sorted_queue

insert_transfer, pull_transfer, first_transfer_key = sorted_queue(TRANSFER)


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

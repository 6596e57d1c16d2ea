"""The request queues of a DRAM channel: entering a request, and which banks are candidates for what.

In each direction a bank is at most one candidate: for a column command, under the age of its oldest request
for the open row, or else for a row command, under the age of its oldest request. A request that has waited
longer than the age limit ends the preference for the open row of its bank. The direction follows the
watermarks of the write queue. Nothing is issued here.
"""

# ruff: noqa: PLR1730 - comparisons instead of min() and max(): the hottest code of the memory side.
from __future__ import annotations

from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Any

from hwmodels.dram.direction import batch_due, direction
from simulator.machine.state_dram import FAR, WRITE, Bank, PseudoChannel, Request

if TYPE_CHECKING:
    from simulator.machine.reference.dram import DramChannel

KEY_BITS = 8
KEY_MASK = (1 << KEY_BITS) - 1
"""A candidate is the age of its request with the bank in the low bits: the smaller one is the older."""
NONE = FAR << KEY_BITS


def push(channel: DramChannel, ck: int, pc: PseudoChannel, mode: int, sector: int, token: Any) -> None:
    """Put a request at the end of its bank's queue."""
    state = channel.state
    key = sector & channel.column_mask
    where = channel.places.get(key)
    if where is None:
        found = channel.map.decode(sector)
        where = (found.bank_group << channel.map.bank_bits) + found.bank, found.row
        channel.places[key] = where
    bank = pc.banks[where[0]]
    row = where[1]
    number = state.arrivals
    state.arrivals = number + 1
    state.requests += 1
    request = Request(number, token, row, ck)
    request.sector = sector
    counters = pc.counters
    waiting = pc.waiting
    counters.queue_clocks[mode] += waiting[mode] * (ck - counters.queue_changed_ck[mode])
    counters.queue_changed_ck[mode] = ck
    waiting[mode] += 1
    bank.waiting[mode] += 1
    bank.order[mode].append(request)
    rows = bank.by_row[mode]
    same = rows.get(row)
    if same is not None:
        same.append(request)
    else:
        rows[row] = deque((request,))
        if bank.waiting[mode] == 1 or row == bank.open_row:
            place(channel, pc, bank, mode, ck)
    if pc.mode != mode or mode == WRITE:
        choose_mode(channel, pc, ck)


def place(channel: DramChannel, pc: PseudoChannel, bank: Bank, mode: int, ck: int) -> None:
    """Enter a bank under the request that it could serve next in `mode`, as a column or a row candidate."""
    column = row = -1
    if bank.waiting[mode] and not bank.reserved:
        order = bank.order[mode]
        oldest = order[0]
        while oldest.served:
            order.popleft()
            oldest = order[0]
        hits = bank.by_row[mode].get(bank.open_row)
        if hits is not None and (oldest.row == bank.open_row or ck - oldest.queued_ck <= channel.age_limit):
            column = hits[0].number << KEY_BITS | bank.index
        else:
            row = oldest.number << KEY_BITS | bank.index
    old = bank.column_key[mode]
    if old != column:
        keys = pc.column_keys[mode]
        if old >= 0:
            keys.remove(old)
        if column >= 0:
            insort(keys, column)
            legal = max(bank.next_column[mode], pc.next_column[mode])
            if legal < pc.column_wake:
                pc.column_wake = legal
        bank.column_key[mode] = column
    old = bank.row_key[mode]
    if old != row:
        keys = pc.row_keys[mode]
        if old >= 0:
            keys.remove(old)
        if row >= 0:
            insort(keys, row)
            legal = max(bank.next_act, pc.next_act) if bank.open_row < 0 else bank.next_pre
            if legal < pc.row_wake:
                pc.row_wake = legal
        bank.row_key[mode] = row


def choose_mode(channel: DramChannel, pc: PseudoChannel, ck: int) -> None:
    """Turn the pseudo-channel to reads or writes by the watermarks."""
    reads, writes = pc.waiting
    pc.batch = batch_due(writes, pc.batch, channel.drain_high, channel.drain_low)
    mode = direction(pc.mode, reads, writes, pc.batch)
    if mode != pc.mode:
        pc.mode = mode
        pc.column_wake = pc.row_wake = ck
        look_again(channel, pc, ck)


def look_again(channel: DramChannel, pc: PseudoChannel, ck: int) -> None:
    """A bank has run out of work, or the direction has changed: look for a refresh bank on the next clock."""
    if pc.refresh_owed and pc.refresh_bank < 0 and pc.refresh_look_ck > ck:
        pc.refresh_look_ck = ck + 1
        channel.state.refresh_wake = min(channel.state.refresh_wake, ck + 1)

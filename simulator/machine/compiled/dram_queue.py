"""The request queues of a DRAM channel: entering a request, and which banks are candidates for what.

In each direction a bank is at most one candidate: for a column command, under the age of its oldest request
for the open row, or else for a row command, under the age of its oldest request. A bank's requests are one
chain by age, searched where the reference engine has a dictionary by row; those for sectors of one line are
one entry. Nothing is issued here.
"""

from __future__ import annotations

from typing import Any

from hwmodels.dram.address_map import fold, hashed_bank
from hwmodels.dram.direction import batch_due, direction
from simulator.machine.compiled.jit import bit_count, compiled, inlined, load, store
from simulator.machine.compiled.layout_memory import bank_at, channel, pseudo, transfer_at
from simulator.machine.state_dram import WRITE

KEY_BITS = 8
KEY_MASK = (1 << KEY_BITS) - 1
"""A candidate is the age of its request with the bank in the low bits: the smaller one is the older."""
NONE = 1 << 62
SEGMENT_INTEGERS = 4


@compiled
def decoded(m: Any, sector: int) -> int:
    """Row and bank of a sector of a pseudo-channel: the bank in the low bits, as in a key."""
    row = bank = group = 0
    for index in range(m.segments):
        place = SEGMENT_INTEGERS * index
        field = load(m.segment_table, place)
        bits = sector >> load(m.segment_table, place + 3)
        width = load(m.segment_table, place + 2)
        if width:
            bits &= (1 << width) - 1
        bits <<= load(m.segment_table, place + 1)
        if field == 0:
            row |= bits
        elif field == 1:
            bank |= bits
        elif field == 2:
            group |= bits
    bank = hashed_bank(bank, row, m.bank_bits, m.bank_folds, m.bank_rotation)
    group ^= fold(row >> 1, m.group_bits) * m.bank_folds
    return row << KEY_BITS | (group << m.bank_bits) + bank


@inlined
def held_place(mode: int, row: int) -> int:
    """Where a bank counts its entries for rows like this one."""
    return 4 * mode + ((row ^ row >> 2) & 3)


@inlined
def _find_hit(m: Any, bank: Any, mode: int, start: int) -> None:
    """Search a bank's requests for its open row, from one on; most that are not there are not searched."""
    row = bank.open_row
    index = start if row >= 0 and bank.held[held_place(mode, row)] else -1
    while index >= 0:
        one = transfer_at(m.transfers, index)
        if one.row == row:
            break
        index = one.next
    bank.hit[mode] = index


@compiled
def set_open_row(m: Any, bank: Any, row: int) -> None:
    """Open a row of a bank, or close the bank with row −1."""
    bank.open_row = row
    for mode in range(2):
        _find_hit(m, bank, mode, bank.head[mode])


@compiled
def push(m: Any, ch: int, lane: int, mode: int, index: int, found: int, ck: int) -> None:
    """Put requests for sectors of a line at the end of the queue of their bank; `found` is row and bank."""
    where = ch * m.lanes + lane
    pc = pseudo(m.pseudos, where)
    state = channel(m.channels, ch)
    row = found >> KEY_BITS
    number = found & KEY_MASK
    bank = bank_at(m.banks, where * m.bank_count + number)
    one = transfer_at(m.transfers, index)
    one.number = state.arrivals
    one.row = row
    one.queued_ck = ck
    one.waited = -1
    one.opened = 0
    one.next = -1
    size = bit_count(one.sectors)
    state.arrivals += size
    state.requests += size
    matters = bank.waiting[mode] == 0
    if row == bank.open_row and bank.hit[mode] < 0:
        bank.hit[mode] = index
        matters = True
    bank.held[held_place(mode, row)] += 1
    one.before = bank.tail[mode]
    if bank.tail[mode] < 0:
        bank.head[mode] = index
    else:
        transfer_at(m.transfers, bank.tail[mode]).next = index
    bank.tail[mode] = index
    for sector in range(size):
        pc.waiting[mode] += 1
        bank.waiting[mode] += 1
        if sector == 0 and matters:
            place(m, where, number, mode, ck)
        if pc.mode != mode or mode == WRITE:
            choose_mode(m, ch, where, ck)


@compiled
def remove(m: Any, bank: Any, mode: int, index: int) -> None:
    """Take a served request out of its bank's queue; it still belongs to the caller."""
    one = transfer_at(m.transfers, index)
    bank.held[held_place(mode, one.row)] -= 1
    if one.before < 0:
        bank.head[mode] = one.next
    else:
        transfer_at(m.transfers, one.before).next = one.next
    if one.next < 0:
        bank.tail[mode] = one.before
    else:
        transfer_at(m.transfers, one.next).before = one.before
    if bank.hit[mode] == index:
        _find_hit(m, bank, mode, one.next)


@compiled
def replace_key(m: Any, where: int, which: int, old: int, new: int) -> None:
    """Keep a list of candidates sorted while one of them changes; −1 is none."""
    pc = pseudo(m.pseudos, where)
    first = (where * 4 + which) * m.bank_count
    size = pc.keys[which]
    if old >= 0:
        index = 0
        while load(m.key_table, first + index) != old:
            index += 1
        size -= 1
        while index < size:
            store(m.key_table, first + index, load(m.key_table, first + index + 1))
            index += 1
    if new >= 0:
        index = size
        while index > 0 and load(m.key_table, first + index - 1) > new:
            store(m.key_table, first + index, load(m.key_table, first + index - 1))
            index -= 1
        store(m.key_table, first + index, new)
        size += 1
    pc.keys[which] = size


@compiled
def place(m: Any, where: int, number: int, mode: int, ck: int) -> None:
    """Enter a bank under the request that it could serve next in `mode`, as a column or a row candidate."""
    pc = pseudo(m.pseudos, where)
    bank = bank_at(m.banks, where * m.bank_count + number)
    column = -1
    row = -1
    if bank.waiting[mode] and not bank.reserved:
        oldest = transfer_at(m.transfers, bank.head[mode])
        hit = bank.hit[mode]
        if hit >= 0 and (oldest.row == bank.open_row or ck - oldest.queued_ck <= m.age_limit):
            column = transfer_at(m.transfers, hit).number << KEY_BITS | number
        else:
            row = oldest.number << KEY_BITS | number
    old = bank.column_key[mode]
    if old != column:
        replace_key(m, where, mode, old, column)
        bank.column_key[mode] = column
        if column >= 0:
            pc.column_wake = min(pc.column_wake, max(bank.next_column[mode], pc.next_column[mode]))
    old = bank.row_key[mode]
    if old != row:
        replace_key(m, where, 2 + mode, old, row)
        bank.row_key[mode] = row
        if row >= 0:
            legal = max(bank.next_act, pc.next_act) if bank.open_row < 0 else bank.next_pre
            pc.row_wake = min(pc.row_wake, legal)


@compiled
def choose_mode(m: Any, ch: int, where: int, ck: int) -> None:
    """Turn the pseudo-channel to reads or writes by the watermarks."""
    pc = pseudo(m.pseudos, where)
    pc.batch = batch_due(pc.waiting[1], pc.batch, m.drain_high, m.drain_low)
    mode = direction(pc.mode, pc.waiting[0], pc.waiting[1], pc.batch)
    if mode != pc.mode:
        pc.mode = mode
        pc.column_wake = ck
        pc.row_wake = ck
        look_again(m, ch, where, ck)


@compiled
def look_again(m: Any, ch: int, where: int, ck: int) -> None:
    """A bank has run out of work, or the direction has changed: look for a refresh bank on the next clock."""
    pc = pseudo(m.pseudos, where)
    if pc.refresh_owed and pc.refresh_bank < 0 and pc.refresh_look_ck > ck:
        pc.refresh_look_ck = ck + 1
        state = channel(m.channels, ch)
        state.refresh_wake = min(state.refresh_wake, ck + 1)

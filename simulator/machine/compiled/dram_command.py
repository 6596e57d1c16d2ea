"""The commands of a DRAM channel: what each does to rows, clocks, buses and counters.

A command moves the first legal clocks of what it binds by the distances of the constraint table, which stand
in the machine's record. Legality is the caller's business.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.arrivals import bring
from simulator.machine.compiled.dram_queue import choose_mode, look_again, place, remove, set_open_row
from simulator.machine.compiled.jit import ahead, compiled, inlined
from simulator.machine.compiled.layout import P_TRANSFERS
from simulator.machine.compiled.layout_memory import (
    MOST_GROUPS,
    TRANSFER,
    bank_at,
    channel,
    pseudo,
    transfer_at,
)
from simulator.machine.compiled.pools import give
from simulator.machine.state_dram import READ, WRITE
from simulator.statistics.schema import DRAM_COUNTERS

_PLACE = {counter.name: place for place, counter in enumerate(DRAM_COUNTERS)}
D_ACTIVATES, D_PRECHARGES, D_REFRESHES = _PLACE["activates"], _PLACE["precharges"], _PLACE["refreshes"]
D_READS, D_WRITES, D_FORWARDED = _PLACE["reads"], _PLACE["writes"], _PLACE["forwarded"]
D_HITS = _PLACE["row_hits"]
"""Row hits, misses and conflicts follow each other, as `opened` counts."""
D_TURNAROUNDS, D_BUSY = _PLACE["turnarounds"], _PLACE["busy_clocks"]
ask_transfer = ahead(TRANSFER)


@inlined
def take_row_slots(m: Any, ch: int, ck: int, slots: int) -> None:
    """Hold the row-command bus for a command of clock `ck`."""
    state = channel(m.channels, ch)
    state.row_slot = max(state.row_slot, ck * m.slots_per_clock) + slots
    state.row_free = state.row_slot // m.slots_per_clock
    state.last_row_ck = ck


@inlined
def close(m: Any, where: int, bank: Any, ck: int) -> None:
    """Close the row of a bank at `ck`."""
    pc = pseudo(m.pseudos, where)
    set_open_row(m, bank, -1)
    bank.next_act = max(bank.next_act, ck + m.pre_act)
    bank.next_refresh = max(bank.next_refresh, ck + m.pre_refresh_bank)
    pc.next_refresh_all = max(pc.next_refresh_all, ck + m.pre_refresh_all)
    pc.counters[D_PRECHARGES] += 1


@compiled
def precharge(m: Any, ch: int, where: int, bank: Any, ck: int) -> None:
    """PRE of one bank."""
    take_row_slots(m, ch, ck, m.pre_slots)
    close(m, where, bank, ck)


@compiled
def activate(m: Any, ch: int, where: int, bank: Any, row: int, ck: int) -> None:
    """ACT of one bank."""
    take_row_slots(m, ch, ck, m.act_slots)
    pc = pseudo(m.pseudos, where)
    group = bank.group
    set_open_row(m, bank, row)
    bank.next_column[READ] = ck + m.act_column[READ]
    bank.next_column[WRITE] = ck + m.act_column[WRITE]
    bank.next_pre = ck + m.act_pre
    bank.next_act = ck + m.act_act_bank
    pc.group_act[group] = ck + m.act_act_group
    for index in range(3):
        pc.last_acts[index] = pc.last_acts[index + 1]
    pc.last_acts[3] = ck
    pc.next_act = max(ck + m.act_act_pc, pc.last_acts[0] + m.four_acts)
    bank.next_refresh = max(bank.next_refresh, ck + m.act_refresh_bank)
    pc.group_refresh[group] = ck + m.act_refresh_group
    pc.next_refresh = max(pc.next_refresh, ck + m.act_refresh_pc)
    pc.next_refresh_all = max(pc.next_refresh_all, ck + m.act_refresh_all)
    pc.counters[D_ACTIVATES] += 1


@compiled
def issue_row(m: Any, ch: int, where: int, number: int, ck: int) -> None:
    """Precharge or activate for the oldest request of the bank's candidate mode."""
    pc = pseudo(m.pseudos, where)
    bank = bank_at(m.banks, where * m.bank_count + number)
    own = pc.mode if bank.row_key[pc.mode] >= 0 else READ
    request = transfer_at(m.transfers, bank.head[own])
    if request.waited < 0:
        request.waited = ck - request.queued_ck
    if bank.open_row >= 0:
        request.opened = 2
        precharge(m, ch, where, bank, ck)
        # A bank that waited for a row command still does; only hits of the closed row stand elsewhere now.
        for mode in range(2):
            if bank.column_key[mode] >= 0:
                place(m, where, number, mode, ck)
    else:
        if request.opened == 0:
            request.opened = 1
        activate(m, ch, where, bank, request.row, ck)
        for mode in range(2):
            if bank.hit[mode] >= 0:
                place(m, where, number, mode, ck)


@compiled
def _move_clocks(m: Any, pc: Any, bank: Any, mode: int, ck: int) -> None:
    """What a column command binds."""
    for other in range(2):
        pc.next_column[other] = max(pc.next_column[other], ck + m.column_pc[2 * mode + other])
        place = other * MOST_GROUPS + bank.group
        pc.group_column[place] = max(pc.group_column[place], ck + m.column_group[2 * mode + other])
    bank.next_pre = max(bank.next_pre, ck + m.column_pre[mode])
    pc.column_wake = pc.next_column[mode]


@inlined
def _serve_first_sector(m: Any, ch: int, bank: Any, mode: int, index: int, ck: int) -> None:
    """Take the first sector off an entry of a bank's queue; the next one has seen no command yet."""
    request = transfer_at(m.transfers, index)
    first = ck if request.waited < 0 else request.queued_ck + request.waited
    sector = request.sectors & -request.sectors
    if mode == WRITE:
        channel(m.channels, ch).wrote = 1
    else:
        bring(m, ch, request, sector, first, ck, 0)
    if request.sectors == sector:
        remove(m, bank, mode, index)
        give(m, P_TRANSFERS, index)
    else:
        request.number += 1
        request.waited = -1
        request.opened = 0
        request.sectors ^= sector
        ask_transfer(m.transfers, request.next)


@compiled
def issue_column(m: Any, ch: int, where: int, number: int, ck: int) -> None:
    """Read or write the oldest request for the bank's open row."""
    state = channel(m.channels, ch)
    pc = pseudo(m.pseudos, where)
    bank = bank_at(m.banks, where * m.bank_count + number)
    mode = pc.mode
    index = bank.hit[mode]
    request = transfer_at(m.transfers, index)
    bank.waiting[mode] -= 1
    state.requests -= 1
    state.last_column_ck = ck
    pc.waiting[mode] -= 1
    pc.counters[D_READS if mode == READ else D_WRITES] += 1
    pc.counters[D_HITS + request.opened] += 1
    pc.counters[D_BUSY] += m.burst_clocks
    if pc.bus_mode != mode:
        if pc.bus_mode >= 0:
            pc.counters[D_TURNAROUNDS] += 1
        pc.bus_mode = mode
    _move_clocks(m, pc, bank, mode, ck)
    _serve_first_sector(m, ch, bank, mode, index, ck)
    if m.closed_page and bank.hit[READ] < 0 and bank.hit[WRITE] < 0:
        # The closed-page policy: the row closes by itself once the command allows, free on the row bus.
        close(m, where, bank, max(bank.next_pre, ck))
        for other in range(2):
            place(m, where, number, other, ck)
    place(m, where, number, mode, ck)
    if not bank.waiting[mode]:
        look_again(m, ch, where, ck)
    if mode == WRITE or not pc.waiting[READ]:
        choose_mode(m, ch, where, ck)

"""Refresh of a DRAM channel: when it falls due, which bank takes it, and how idle time is caught up.

The rules are those of the reference engine's file of this name. Idle time is stepped through refresh by
refresh: at this engine's speed a jump over whole rounds would save nothing, and both give the same state.
"""

from __future__ import annotations

from typing import Any

from hwmodels.dram.refresh import first_due, refresh_bank
from simulator.machine.compiled.dram_command import D_PRECHARGES, D_REFRESHES, precharge, take_row_slots
from simulator.machine.compiled.dram_queue import place, set_open_row
from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout_memory import bank_at, channel, pseudo
from simulator.machine.state_dram import FAR

NO_REFRESH, PER_BANK, ALL_BANK = range(3)


@compiled
def start(m: Any, ch: int) -> None:
    """Set the first due times. Pseudo-channels share the row bus, so their one-bank refreshes are spread."""
    for lane in range(m.lanes):
        pc = pseudo(m.pseudos, ch * m.lanes + lane)
        if m.refresh == PER_BANK:
            pc.refresh_due = first_due(m.refi_pb, lane, m.lanes)
        elif m.refresh == ALL_BANK:
            pc.refresh_due = m.refi
    set_wake(m, ch)


@compiled
def note_due(m: Any, ch: int, ck: int) -> None:
    """Enter what has fallen due by `ck`, and choose banks for what is owed."""
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        pc = pseudo(m.pseudos, where)
        while pc.refresh_due <= ck:
            if m.refresh == ALL_BANK:
                pc.refresh_all = 1
                pc.refresh_due += m.refi
            else:
                pc.refresh_owed += 1
                pc.refresh_look_ck = ck
                pc.refresh_due += m.refi_pb
        if pc.refresh_look_ck <= ck:
            pc.refresh_look_ck = FAR
            if pc.refresh_owed and pc.refresh_bank < 0:
                _choose_bank(m, where, ck)
    set_wake(m, ch)


@compiled
def issue(m: Any, ch: int, ck: int) -> int:
    """Issue the row command that a refresh waits for, if one is legal at `ck`; says whether it did."""
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        if _command_ck(m, where) <= ck:
            if pseudo(m.pseudos, where).refresh_all:
                _issue_all_bank(m, ch, where, ck)
            else:
                _issue_one_bank(m, ch, where, ck)
            set_wake(m, ch)
            return 1
    return 0


@compiled
def catch_up(m: Any, ch: int, ck: int) -> None:
    """Do the refreshes of an idle channel that fall before clock `ck`."""
    state = channel(m.channels, ch)
    while state.refresh_wake < ck:
        now = max(state.refresh_wake, state.tick_ck + 1)
        if now >= ck:
            break
        state.tick_ck = now
        note_due(m, ch, now)
        if state.row_free <= now and state.refresh_wake <= now:
            issue(m, ch, now)


@compiled
def _choose_bank(m: Any, where: int, ck: int) -> None:
    """Reserve a bank of this round, if one is fit or too many are owed."""
    pc = pseudo(m.pseudos, where)
    forced = 1 if pc.refresh_owed > m.postpone else 0
    for number in range(m.bank_count):
        bank = bank_at(m.banks, where * m.bank_count + number)
        m.present[number] = bank.waiting[pc.mode]
        m.other[number] = bank.waiting[1 - pc.mode]
        m.open_rows[number] = bank.open_row
    best = refresh_bank(m.present, m.other, m.open_rows, pc.refresh_left, m.bank_count, forced)
    if best < 0:
        return
    pc.refresh_bank = best
    bank_at(m.banks, where * m.bank_count + best).reserved = 1
    for mode in range(2):
        place(m, where, best, mode, ck)


@inlined
def _command_ck(m: Any, where: int) -> int:
    """First clock at which the next command of a pending refresh is legal; FAR when none is pending."""
    pc = pseudo(m.pseudos, where)
    if pc.refresh_all:
        is_open = False
        latest = 0
        for number in range(m.bank_count):
            bank = bank_at(m.banks, where * m.bank_count + number)
            is_open = is_open or bank.open_row >= 0
            latest = max(latest, bank.next_pre)
        return latest if is_open else pc.next_refresh_all
    if pc.refresh_bank < 0:
        return FAR
    bank = bank_at(m.banks, where * m.bank_count + pc.refresh_bank)
    if bank.open_row >= 0:
        return bank.next_pre
    return max(bank.next_refresh, pc.next_refresh, pc.group_refresh[bank.group])


@compiled
def _issue_one_bank(m: Any, ch: int, where: int, ck: int) -> None:
    pc = pseudo(m.pseudos, where)
    number = pc.refresh_bank
    bank = bank_at(m.banks, where * m.bank_count + number)
    if bank.open_row >= 0:
        precharge(m, ch, where, bank, ck)
        return
    take_row_slots(m, ch, ck, m.refresh_slots)
    bank.next_act = max(bank.next_act, ck + m.refresh_act_bank)
    bank.next_refresh = ck + m.refresh_refresh_bank
    pc.next_act = max(pc.next_act, ck + m.refresh_act_pc)
    pc.next_refresh = max(pc.next_refresh, ck + m.refresh_refresh_pc)
    bank.reserved = 0
    pc.refresh_bank = -1
    pc.refresh_owed -= 1
    pc.refresh_look_ck = ck + 1 if pc.refresh_owed else FAR
    pc.refresh_left &= ~(1 << number)
    if not pc.refresh_left:
        pc.refresh_left = m.all_banks
    pc.counters[D_REFRESHES] += 1
    for mode in range(2):
        place(m, where, number, mode, ck)


@compiled
def _issue_all_bank(m: Any, ch: int, where: int, ck: int) -> None:
    pc = pseudo(m.pseudos, where)
    open_banks = 0
    for number in range(m.bank_count):
        bank = bank_at(m.banks, where * m.bank_count + number)
        if bank.open_row >= 0:
            set_open_row(m, bank, -1)
            open_banks += 1
    if open_banks:
        take_row_slots(m, ch, ck, m.pre_slots)
        pc.counters[D_PRECHARGES] += open_banks
        pc.next_act = max(pc.next_act, ck + m.pre_all_act)
        pc.next_refresh_all = max(pc.next_refresh_all, ck + m.pre_all_refresh_all)
    else:
        take_row_slots(m, ch, ck, m.refresh_slots)
        pc.next_act = max(pc.next_act, ck + m.refresh_all_act)
        pc.next_refresh_all = ck + m.refresh_all_refresh_all
        pc.refresh_all = 0
        pc.counters[D_REFRESHES] += 1
    for number in range(m.bank_count):
        for mode in range(2):
            place(m, where, number, mode, ck)
    pc.column_wake = ck + 1
    pc.row_wake = ck + 1


@compiled
def set_wake(m: Any, ch: int) -> None:
    """Note the next clock with work for refresh."""
    wake = FAR
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        pc = pseudo(m.pseudos, where)
        wake = min(wake, pc.refresh_due, pc.refresh_look_ck, _command_ck(m, where))
    channel(m.channels, ch).refresh_wake = wake

"""A DRAM channel: one row command and one column command a clock at most, the oldest of its pseudo-channels
first.

The machine of the reference engine's file of this name; its queues, candidates, commands and refresh are in
files of the same names beside this one.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import dram_refresh
from simulator.machine.compiled.arrivals import bring
from simulator.machine.compiled.dram_candidates import column_candidate, row_candidate
from simulator.machine.compiled.dram_command import D_FORWARDED, issue_column, issue_row
from simulator.machine.compiled.dram_queue import KEY_BITS, KEY_MASK, NONE, held_place
from simulator.machine.compiled.jit import compiled
from simulator.machine.compiled.layout import P_TRANSFERS
from simulator.machine.compiled.layout_memory import bank_at, channel, pseudo, transfer_at
from simulator.machine.compiled.pools import give
from simulator.machine.state_dram import FAR, WRITE


@compiled
def advance(m: Any, ch: int, ck: int) -> None:
    """Do the refreshes of an idle channel that fall before clock `ck`."""
    state = channel(m.channels, ch)
    if state.refresh_wake < ck and not state.requests:
        dram_refresh.catch_up(m, ch, ck)


@compiled
def answered_by_write(m: Any, where: int, sector: int, found: int) -> int:
    """The sectors of a line, named by its sector 0, that wait in a bank to be written: they answer reads."""
    sectors = 0
    bank = bank_at(m.banks, where * m.bank_count + (found & KEY_MASK))
    if bank.held[held_place(WRITE, found >> KEY_BITS)]:
        index = bank.head[WRITE]
        while index >= 0:
            one = transfer_at(m.transfers, index)
            if one.sector == sector:
                sectors |= one.sectors
            index = one.next
    return sectors


@compiled
def answer_at_once(m: Any, ch: int, where: int, entry: int, ck: int) -> None:
    """Answer a read of one sector at clock `ck` by a write that waits."""
    pseudo(m.pseudos, where).counters[D_FORWARDED] += 1
    one = transfer_at(m.transfers, entry)
    bring(m, ch, one, one.sectors, ck, ck, 1)
    give(m, P_TRANSFERS, entry)


@compiled
def _column(m: Any, ch: int, ck: int) -> None:
    best = NONE
    chosen = -1
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        if pseudo(m.pseudos, where).column_wake <= ck:
            key = column_candidate(m, where, ck)
            if key < best:
                best = key
                chosen = where
    if chosen >= 0:
        issue_column(m, ch, chosen, best & KEY_MASK, ck)


@compiled
def _row(m: Any, ch: int, ck: int) -> None:
    best = NONE
    chosen = -1
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        if pseudo(m.pseudos, where).row_wake <= ck:
            key = row_candidate(m, where, ck)
            if key < best:
                best = key
                chosen = where
    if chosen >= 0:
        issue_row(m, ch, chosen, best & KEY_MASK, ck)


@compiled
def tick(m: Any, ch: int, ck: int) -> None:
    """Issue what can be issued at clock `ck`."""
    state = channel(m.channels, ch)
    if state.refresh_wake <= ck:
        advance(m, ch, ck)
        dram_refresh.note_due(m, ch, ck)
    state.tick_ck = ck
    if state.last_column_ck < ck:
        _column(m, ch, ck)
    if state.last_row_ck < ck and state.row_free <= ck:
        if state.refresh_wake <= ck and dram_refresh.issue(m, ch, ck):
            return
        _row(m, ch, ck)


@compiled
def next_ck(m: Any, ch: int, ck: int) -> int:
    """A clock after `ck` before which nothing can happen; FAR when only refresh is left, for later."""
    state = channel(m.channels, ch)
    if not state.requests:
        return FAR
    soonest = FAR
    for lane in range(m.lanes):
        soonest = min(soonest, pseudo(m.pseudos, ch * m.lanes + lane).row_wake)
    soonest = max(soonest, state.row_free)
    for lane in range(m.lanes):
        soonest = min(soonest, pseudo(m.pseudos, ch * m.lanes + lane).column_wake)
    soonest = min(soonest, state.refresh_wake)
    return max(soonest, ck + 1)

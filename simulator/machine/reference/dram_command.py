"""The commands of a DRAM channel: what each does to rows, clocks, buses and counters.

A command moves the first legal clocks of what it binds by the distances of the constraint table. Under the
closed-page policy the last column command for a row closes it without a command of its own. Legality is the
caller's business.
"""

# ruff: noqa: PLR1730 - comparisons instead of min() and max(): the hottest code of the memory side.
from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.dram.timing import Command
from simulator.machine.reference.dram_queue import choose_mode, look_again, place
from simulator.machine.state_dram import READ, WRITE, Bank, PseudoChannel, Request

if TYPE_CHECKING:
    from simulator.machine.reference.dram import DramChannel


def issue_column(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    """Read or write the oldest request for the bank's open row."""
    state = channel.state
    mode = pc.mode
    d = channel.distances
    rows = bank.by_row[mode]
    hits = rows[bank.open_row]
    request = hits.popleft()
    request.served = True
    if not hits:
        del rows[bank.open_row]
    bank.waiting[mode] -= 1
    state.requests -= 1
    state.last_column_ck = ck
    counters = pc.counters
    waiting = pc.waiting
    counters.queue_clocks[mode] += waiting[mode] * (ck - counters.queue_changed_ck[mode])
    counters.queue_changed_ck[mode] = ck
    counters.wait_clocks[mode] += ck - request.queued_ck
    waiting[mode] -= 1
    _count(channel, pc, request, mode)

    group = bank.group
    read_gap, write_gap = d.column_pc[mode]
    if ck + read_gap > pc.next_column[READ]:
        pc.next_column[READ] = ck + read_gap
    if ck + write_gap > pc.next_column[WRITE]:
        pc.next_column[WRITE] = ck + write_gap
    read_gap, write_gap = d.column_group[mode]
    if ck + read_gap > pc.group_column[READ][group]:
        pc.group_column[READ][group] = ck + read_gap
    if ck + write_gap > pc.group_column[WRITE][group]:
        pc.group_column[WRITE][group] = ck + write_gap
    if ck + d.column_pre[mode] > bank.next_pre:
        bank.next_pre = ck + d.column_pre[mode]
    pc.column_wake = pc.next_column[mode]

    if request.first_ck < 0:
        request.first_ck = ck
    done = ck + channel.data_clocks[mode]
    channel.completions.append((done, request.token, request.queued_ck, request.first_ck, ck))
    if channel.trace is not None:
        channel.trace.append((ck, Command.RD if mode == READ else Command.WR, pc.index, bank.index))
    if mode == WRITE:
        left = pc.write_sectors[request.sector] - 1
        if left:
            pc.write_sectors[request.sector] = left
        else:
            del pc.write_sectors[request.sector]
    if (
        channel.closed_page
        and bank.open_row not in bank.by_row[READ]
        and bank.open_row not in bank.by_row[WRITE]
    ):
        _precharge_with_column(channel, pc, bank, ck)
    place(channel, pc, bank, mode, ck)
    if not bank.waiting[mode]:
        look_again(channel, pc, ck)
    if mode == WRITE or not waiting[READ]:
        choose_mode(channel, pc, ck)


def _count(channel: DramChannel, pc: PseudoChannel, request: Request, mode: int) -> None:
    counters = pc.counters
    if mode == READ:
        counters.reads += 1
    else:
        counters.writes += 1
    if request.opened == 0:
        counters.row_hits += 1
    elif request.opened == 1:
        counters.row_misses += 1
    else:
        counters.row_conflicts += 1
    counters.busy_clocks += channel.clocks.burst
    if pc.bus_mode != mode:
        counters.turnarounds += pc.bus_mode >= 0
        pc.bus_mode = mode


def _precharge_with_column(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    """Close the row by itself once the column command allows: the closed-page policy, free on the row bus."""
    close(channel, pc, bank, max(bank.next_pre, ck))
    for mode in (READ, WRITE):
        place(channel, pc, bank, mode, ck)


def issue_row(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    """Precharge or activate for the oldest request of the bank's candidate mode."""
    mode = pc.mode if bank.row_key[pc.mode] >= 0 else READ
    request = bank.order[mode][0]
    if request.first_ck < 0:
        request.first_ck = ck
    if bank.open_row >= 0:
        request.opened = 2
        precharge(channel, pc, bank, ck)
        # A bank that waited for a row command still does; only hits of the closed row stand elsewhere now.
        for mode in (READ, WRITE):
            if bank.column_key[mode] >= 0:
                place(channel, pc, bank, mode, ck)
    else:
        if request.opened == 0:
            request.opened = 1
        _activate(channel, pc, bank, request.row, ck)
        for mode in (READ, WRITE):
            if request.row in bank.by_row[mode]:
                place(channel, pc, bank, mode, ck)


def precharge(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    """PRE of one bank."""
    take_row_slots(channel, ck, channel.distances.pre_slots)
    close(channel, pc, bank, ck)
    if channel.trace is not None:
        channel.trace.append((ck, Command.PRE, pc.index, bank.index))


def _activate(channel: DramChannel, pc: PseudoChannel, bank: Bank, row: int, ck: int) -> None:
    d = channel.distances
    take_row_slots(channel, ck, d.act_slots)
    group = bank.group
    bank.open_row = row
    bank.next_column[READ] = ck + d.act_column[READ]
    bank.next_column[WRITE] = ck + d.act_column[WRITE]
    # An activate is legal now, so what bound it lies behind; only clocks that bind refresh may lie ahead.
    bank.next_pre = ck + d.act_pre
    bank.next_act = ck + d.act_act_bank
    pc.group_act[group] = ck + d.act_act_group
    acts = pc.last_acts
    acts.append(ck)
    pc.next_act = max(ck + d.act_act_pc, acts[0] + d.four_acts)
    bank.next_refresh = max(bank.next_refresh, ck + d.act_refresh_bank)
    pc.group_refresh[group] = ck + d.act_refresh_group
    pc.next_refresh = max(pc.next_refresh, ck + d.act_refresh_pc)
    pc.next_refresh_all = max(pc.next_refresh_all, ck + d.act_refresh_all)
    pc.counters.activates += 1
    if channel.trace is not None:
        channel.trace.append((ck, Command.ACT, pc.index, bank.index))


def close(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    """Close the row of a bank at `ck`."""
    d = channel.distances
    bank.open_row = -1
    if ck + d.pre_act > bank.next_act:
        bank.next_act = ck + d.pre_act
    if ck + d.pre_refresh_bank > bank.next_refresh:
        bank.next_refresh = ck + d.pre_refresh_bank
    if ck + d.pre_refresh_all > pc.next_refresh_all:
        pc.next_refresh_all = ck + d.pre_refresh_all
    pc.counters.precharges += 1


def take_row_slots(channel: DramChannel, ck: int, slots: int) -> None:
    """Hold the row-command bus for a command of clock `ck`."""
    start = ck * channel.distances.slots_per_clock
    if channel.state.row_slot > start:
        start = channel.state.row_slot
    channel.state.row_slot = start + slots
    channel.state.last_row_ck = ck

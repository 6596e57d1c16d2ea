"""Refresh of a DRAM channel: when it falls due, which bank takes it, and how idle time is caught up.

Per bank: one refresh falls due every tREFIpb in each pseudo-channel, shifted between them. It goes to a bank
of this round that has no work in the present direction; while there is none it is put off, and once more
than the postponement limit are owed it is forced on the bank with the least work. All bank: every tREFI the
whole pseudo-channel stops, closes its rows and refreshes. A channel without requests is not ticked: its
refreshes are done later, at the clocks that ticking would have given them, and long gaps are crossed in
whole rounds once the state is seen to repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.dram.refresh import first_due, refresh_bank
from hwmodels.dram.timing import Command
from simulator.machine.reference.dram_command import precharge, take_row_slots
from simulator.machine.reference.dram_queue import place
from simulator.machine.state_dram import FAR, MODES, Bank, PseudoChannel

if TYPE_CHECKING:
    from simulator.machine.reference.dram import DramChannel

ROUNDS_BEFORE_JUMP = 4


def start(channel: DramChannel) -> None:
    """Set the first due times. Pseudo-channels share the row bus, so their one-bank refreshes are spread."""
    parts = channel.state.pseudo_channels
    for pc in parts:
        pc.refresh_left = (1 << len(pc.banks)) - 1
        if channel.refresh == "per_bank":
            pc.refresh_due = first_due(channel.clocks.refi_pb, pc.index, len(parts))
        elif channel.refresh == "all_bank":
            pc.refresh_due = channel.clocks.refi
    _set_wake(channel)


def note_due(channel: DramChannel, ck: int) -> None:
    """Enter what has fallen due by `ck`, and choose banks for what is owed."""
    for pc in channel.state.pseudo_channels:
        while pc.refresh_due <= ck:
            if channel.refresh == "all_bank":
                pc.refresh_all = True
                pc.refresh_due += channel.clocks.refi
            else:
                pc.refresh_owed += 1
                pc.refresh_look_ck = ck
                pc.refresh_due += channel.clocks.refi_pb
        if pc.refresh_look_ck <= ck:
            pc.refresh_look_ck = FAR
            if pc.refresh_owed and pc.refresh_bank < 0:
                _choose_bank(channel, pc, ck)
    _set_wake(channel)


def issue(channel: DramChannel, ck: int) -> bool:
    """Issue the row command that a refresh waits for, if one is legal at `ck`; says whether it did."""
    for pc in channel.state.pseudo_channels:
        if _command_ck(pc) <= ck:
            if pc.refresh_all:
                _issue_all_bank(channel, pc, ck)
            else:
                _issue_one_bank(channel, pc, pc.banks[pc.refresh_bank], ck)
            _set_wake(channel)
            return True
    return False


def catch_up(channel: DramChannel, ck: int) -> None:
    """Do the refreshes of an idle channel that fall before clock `ck`."""
    state = channel.state
    lasting = channel.clocks.refi
    if channel.refresh == "per_bank":
        lasting = channel.clocks.refi_pb * len(state.pseudo_channels[0].banks)
    horizon = ROUNDS_BEFORE_JUMP * lasting
    while state.refresh_wake < ck:
        now = max(state.refresh_wake, state.tick_ck + 1)
        if now >= ck:
            break
        if ck - now > horizon and channel.trace is None:
            _jump(channel, now, ck, lasting)
            horizon = FAR
            continue
        _step(channel, now)


def _step(channel: DramChannel, ck: int) -> None:
    """What a tick of a channel without requests does."""
    state = channel.state
    state.tick_ck = ck
    note_due(channel, ck)
    if state.row_slot // channel.distances.slots_per_clock <= ck and state.refresh_wake <= ck:
        issue(channel, ck)


def _jump(channel: DramChannel, now: int, ck: int, lasting: int) -> None:
    """Step through two rounds; if the second ends as it began, cross all whole rounds before `ck` at once.

    With no requests the state evolves by itself, so a state that repeats after one round repeats for ever.
    """
    state = channel.state
    _step_until(channel, now + lasting)
    before = _signature(channel, now + lasting)
    counted = [pc.counters.refreshes for pc in state.pseudo_channels]
    _step_until(channel, now + 2 * lasting)
    reached = now + 2 * lasting
    if _signature(channel, reached) != before:
        return
    rounds = (ck - reached) // lasting - 1
    for pc, earlier in zip(state.pseudo_channels, counted, strict=True):
        pc.counters.refreshes += rounds * (pc.counters.refreshes - earlier)
    _shift(channel, reached, rounds * lasting)


def _step_until(channel: DramChannel, end: int) -> None:
    state = channel.state
    now = max(state.refresh_wake, state.tick_ck + 1)
    while now < end:
        _step(channel, now)
        now = max(state.refresh_wake, state.tick_ck + 1)


def _signature(channel: DramChannel, now: int) -> tuple[object, ...]:
    """Everything that decides what an idle channel does from `now` on, with clocks relative to `now`."""

    def ahead(clock: int) -> int:
        return max(clock - now, 0)

    parts: list[object] = [ahead(channel.state.row_slot // channel.distances.slots_per_clock)]
    for pc in channel.state.pseudo_channels:
        parts += [ahead(pc.refresh_due), pc.refresh_owed, pc.refresh_bank, pc.refresh_left, pc.refresh_all]
        parts += [ahead(pc.next_refresh), ahead(pc.next_refresh_all), ahead(pc.next_act)]
        parts += [ahead(clock) for clock in pc.group_refresh + pc.group_act]
        for bank in pc.banks:
            parts += [bank.open_row, ahead(bank.next_act), ahead(bank.next_refresh), bank.reserved]
            parts.append(ahead(bank.next_pre) if bank.open_row >= 0 else 0)
    return tuple(parts)


def _shift(channel: DramChannel, now: int, by: int) -> None:
    """Move every clock that still lies ahead by `by`."""

    def later(clock: int) -> int:
        return clock + by if now < clock < FAR else clock

    state = channel.state
    per_clock = channel.distances.slots_per_clock
    if state.row_slot > now * per_clock:
        state.row_slot += by * per_clock
    state.tick_ck = max(state.tick_ck, now - 1) + by
    for pc in state.pseudo_channels:
        pc.refresh_due += by
        pc.next_refresh = later(pc.next_refresh)
        pc.next_refresh_all = later(pc.next_refresh_all)
        pc.next_act = later(pc.next_act)
        pc.group_refresh = [later(clock) for clock in pc.group_refresh]
        pc.group_act = [later(clock) for clock in pc.group_act]
        for bank in pc.banks:
            bank.next_act = later(bank.next_act)
            bank.next_refresh = later(bank.next_refresh)
    _set_wake(channel)


def _choose_bank(channel: DramChannel, pc: PseudoChannel, ck: int) -> None:
    """Reserve a bank of this round, if one is fit or too many are owed."""
    present = [bank.waiting[pc.mode] for bank in pc.banks]
    other = [bank.waiting[1 - pc.mode] for bank in pc.banks]
    rows = [bank.open_row for bank in pc.banks]
    forced = int(pc.refresh_owed > channel.postpone)
    index = refresh_bank(present, other, rows, pc.refresh_left, len(pc.banks), forced)
    if index < 0:
        return
    pc.counters.refreshes_forced += present[index] > 0
    pc.refresh_bank = index
    pc.banks[index].reserved = True
    for mode in MODES:
        place(channel, pc, pc.banks[index], mode, ck)


def _command_ck(pc: PseudoChannel) -> int:
    """First clock at which the next command of a pending refresh is legal; FAR when none is pending."""
    if pc.refresh_all:
        if any(bank.open_row >= 0 for bank in pc.banks):
            return max(bank.next_pre for bank in pc.banks)
        return pc.next_refresh_all
    if pc.refresh_bank < 0:
        return FAR
    bank = pc.banks[pc.refresh_bank]
    if bank.open_row >= 0:
        return bank.next_pre
    return max(bank.next_refresh, pc.next_refresh, pc.group_refresh[bank.group])


def _issue_one_bank(channel: DramChannel, pc: PseudoChannel, bank: Bank, ck: int) -> None:
    if bank.open_row >= 0:
        precharge(channel, pc, bank, ck)
        return
    d = channel.distances
    take_row_slots(channel, ck, d.refresh_slots)
    bank.next_act = max(bank.next_act, ck + d.refresh_act_bank)
    bank.next_refresh = ck + d.refresh_refresh_bank
    pc.next_act = max(pc.next_act, ck + d.refresh_act_pc)
    pc.next_refresh = max(pc.next_refresh, ck + d.refresh_refresh_pc)
    bank.reserved = False
    pc.refresh_bank = -1
    pc.refresh_owed -= 1
    pc.refresh_look_ck = ck + 1 if pc.refresh_owed else FAR
    pc.refresh_left &= ~(1 << bank.index)
    if not pc.refresh_left:
        pc.refresh_left = (1 << len(pc.banks)) - 1
    pc.counters.refreshes += 1
    for mode in MODES:
        place(channel, pc, bank, mode, ck)
    if channel.trace is not None:
        channel.trace.append((ck, Command.REFPB, pc.index, bank.index))


def _issue_all_bank(channel: DramChannel, pc: PseudoChannel, ck: int) -> None:
    d = channel.distances
    open_banks = [bank for bank in pc.banks if bank.open_row >= 0]
    if open_banks:
        take_row_slots(channel, ck, d.pre_slots)
        for bank in open_banks:
            bank.open_row = -1
        pc.counters.precharges += len(open_banks)
        pc.next_act = max(pc.next_act, ck + d.pre_all_act)
        pc.next_refresh_all = max(pc.next_refresh_all, ck + d.pre_all_refresh_all)
        command = Command.PREAB
    else:
        take_row_slots(channel, ck, d.refresh_slots)
        pc.next_act = max(pc.next_act, ck + d.refresh_all_act)
        pc.next_refresh_all = ck + d.refresh_all_refresh_all
        pc.refresh_all = False
        pc.counters.refreshes += 1
        command = Command.REFAB
    for bank in pc.banks:
        for mode in MODES:
            place(channel, pc, bank, mode, ck)
    pc.column_wake = pc.row_wake = ck + 1
    if channel.trace is not None:
        channel.trace.append((ck, command, pc.index, 0))


def _set_wake(channel: DramChannel) -> None:
    wake = FAR
    for pc in channel.state.pseudo_channels:
        wake = min(wake, pc.refresh_due, pc.refresh_look_ck, _command_ck(pc))
    channel.state.refresh_wake = wake

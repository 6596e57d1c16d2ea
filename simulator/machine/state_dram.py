"""The state of a DRAM channel: plain fields, declared once, from which every engine's channel is made.

A channel holds one or two pseudo-channels; each has bank groups and banks with their open rows, the request
queues and the first clocks at which each kind of command is legal again. All times are memory clocks of the
channel's own counting. Nothing here moves time; requests carry no data, only what the schedule needs.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

READ = 0
WRITE = 1
MODES = (READ, WRITE)
FAR = 1 << 60
"""A clock that never comes."""


@dataclass(slots=True)
class Request:
    """One 32-byte read or write that waits in a bank's queue."""

    number: int
    """Place in the order of arrival at the channel: the age that arbitration goes by."""
    token: Any
    row: int
    queued_ck: int
    first_ck: int = -1
    """Clock of the first command issued for it (precharge, activate, or its column command); -1 before."""
    opened: int = 0
    """What it found: 0 its row open, 1 the bank closed, 2 another row open."""
    served: bool = False
    sector: int = -1


@dataclass(slots=True)
class Bank:
    """One bank: its open row, its next legal clocks, its queues by mode."""

    index: int
    group: int
    open_row: int = -1
    next_act: int = 0
    next_pre: int = 0
    next_refresh: int = 0
    next_column: list[int] = field(default_factory=lambda: [0, 0])
    reserved: bool = False
    """Chosen for refresh: takes no new work until that is done."""
    waiting: list[int] = field(default_factory=lambda: [0, 0])
    """Queued requests by mode."""
    order: tuple[deque[Request], deque[Request]] = field(default_factory=lambda: (deque(), deque()))
    """Requests by arrival; served ones are dropped when they reach the head."""
    by_row: tuple[dict[int, deque[Request]], dict[int, deque[Request]]] = field(
        default_factory=lambda: ({}, {})
    )
    column_key: list[int] = field(default_factory=lambda: [-1, -1])
    row_key: list[int] = field(default_factory=lambda: [-1, -1])


@dataclass(slots=True)
class Counters:
    """What a pseudo-channel counts. Bus clocks are those that carry data."""

    reads: int = 0
    writes: int = 0
    forwarded: int = 0
    activates: int = 0
    precharges: int = 0
    refreshes: int = 0
    refreshes_forced: int = 0
    row_hits: int = 0
    row_misses: int = 0
    row_conflicts: int = 0
    turnarounds: int = 0
    busy_clocks: int = 0
    wait_clocks: list[int] = field(default_factory=lambda: [0, 0])
    """By mode: sum over served requests of the clocks from arrival to column command."""
    queue_clocks: list[int] = field(default_factory=lambda: [0, 0])
    """By mode: the number of queued requests, summed over clocks (up to the last change of the queue)."""
    queue_changed_ck: list[int] = field(default_factory=lambda: [0, 0])


@dataclass(slots=True)
class PseudoChannel:
    """One pseudo-channel with its banks, queues, and refresh."""

    index: int
    banks: list[Bank]
    group_act: list[int]
    group_refresh: list[int]
    group_column: tuple[list[int], list[int]]
    next_act: int = 0
    next_refresh: int = 0
    next_refresh_all: int = 0
    next_column: list[int] = field(default_factory=lambda: [0, 0])
    last_acts: deque[int] = field(default_factory=lambda: deque([-FAR] * 4, maxlen=4))
    mode: int = READ
    batch: int = 0
    """1 while a batch of writes goes on that began at the high mark."""
    bus_mode: int = -1
    """Direction of the last burst; -1 before the first."""
    waiting: list[int] = field(default_factory=lambda: [0, 0])
    column_keys: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    """Banks with a request for their open row, as age and bank in one number, oldest first, by mode."""
    row_keys: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    """Banks that need a row command, likewise."""
    write_sectors: dict[int, int] = field(default_factory=dict)
    column_wake: int = FAR
    """No column command before this clock, as far as known."""
    row_wake: int = FAR
    refresh_due: int = FAR
    refresh_owed: int = 0
    refresh_bank: int = -1
    refresh_left: int = 0
    """Banks not yet refreshed in this round, as a bit mask."""
    refresh_look_ck: int = FAR
    """When to look again for a bank that a refresh owed could take."""
    refresh_all: bool = False
    """An all-bank refresh is due: no other command starts."""
    counters: Counters = field(default_factory=Counters)


@dataclass(slots=True)
class Channel:
    """One channel: its pseudo-channels and the command slots that they share."""

    pseudo_channels: list[PseudoChannel]
    row_slot: int = 0
    """First free slot of the row-command bus."""
    requests: int = 0
    arrivals: int = 0
    tick_ck: int = -1
    """Last clock that was ticked, or crossed while the channel was idle."""
    refresh_wake: int = FAR
    last_column_ck: int = -1
    last_row_ck: int = -1


def make_channel(pseudo_channels: int, groups: int, group_banks: int) -> Channel:
    """An idle channel with all rows closed."""
    parts = []
    for index in range(pseudo_channels):
        banks = [Bank(bank, bank // group_banks) for bank in range(groups * group_banks)]
        columns = ([0] * groups, [0] * groups)
        parts.append(PseudoChannel(index, banks, [0] * groups, [0] * groups, columns))
    return Channel(parts)

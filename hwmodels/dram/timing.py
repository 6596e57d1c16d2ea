"""The timing constraints of a DRAM channel as one table: which command may follow which, where, and when.

A row says: after command `previous`, the command `following` has to wait `distance_clocks` memory clocks
when both meet in one `level` (the same bank, bank group, pseudo-channel or channel); a row with a window
counts from the window-th last `previous` (four activates, tFAW). Row-command bus time is counted in slots,
since HBM3 sends row commands on both clock edges. The channel model, the documents and the tests read the
same table. Times come from the card in femtoseconds and are rounded up to whole memory clocks; on-die
termination, power-down and mode registers are not modelled.
"""

# ruff: noqa: PLR1730 - plain comparisons in the rules, which an engine may compile.
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from enum import IntEnum

from hwmodels.rule import rule


class Command(IntEnum):
    """Commands of a channel: activate, read, write, precharge one or all banks, refresh one or all banks."""

    ACT = 0
    RD = 1
    WR = 2
    PRE = 3
    PREAB = 4
    REFPB = 5
    REFAB = 6


class Level(IntEnum):
    """What two commands must share for a row of the table to bind them."""

    BANK = 0
    BANK_GROUP = 1
    PSEUDO_CHANNEL = 2
    CHANNEL = 3


COLUMN_COMMANDS = (Command.RD, Command.WR)
NEVER = -(1 << 40)
"""A time so long ago that it binds nothing."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One row of the table."""

    previous: Command
    following: Command
    level: Level
    distance_clocks: int
    name: str
    window: int = 1


@dataclass(frozen=True, slots=True)
class TimingClocks:
    """The timing parameters of a part, in whole memory clocks, by their data-sheet names."""

    burst: int
    cl: int
    cwl: int
    rcd_rd: int
    rcd_wr: int
    rp: int
    ras: int
    rc: int
    ccd_s: int
    ccd_l: int
    rrd_s: int
    rrd_l: int
    faw: int
    wr: int
    rtp: int
    wtr_s: int
    wtr_l: int
    rtw: int
    rfc: int
    refi: int
    rfc_pb: int
    refi_pb: int
    rrefd: int
    """Refresh of one bank to refresh or activation of another."""
    act_slots: int = 1
    pre_slots: int = 1
    refresh_slots: int = 1
    row_slots_per_clock: int = 1


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    """All constraints of one part, with the row-bus slots that each command takes."""

    rows: tuple[Constraint, ...]
    row_slots: tuple[int, ...]
    """By command; 0 for column commands."""
    row_slots_per_clock: int

    def distance(self, previous: Command, following: Command, level: Level, window: int = 1) -> int:
        """The longest distance that the table states for a pair on a level; 0 when it states none."""
        found = [
            row.distance_clocks
            for row in self.rows
            if (row.previous, row.following, row.level, row.window) == (previous, following, level, window)
        ]
        return max(found, default=0)

    def flat(self) -> tuple[int, ...]:
        """The rows as integers, five a row, in the form that :func:`legal_at` reads."""
        return tuple(
            int(number)
            for row in self.rows
            for number in (row.previous, row.following, row.level, row.distance_clocks, row.window)
        )


def constraint_table(t: TimingClocks) -> ConstraintTable:
    """The table of a part from its timing parameters."""
    ACT, RD, WR, PRE, PREAB, REFPB, REFAB = Command
    BANK, GROUP, PC, CHANNEL = Level
    write_end = t.cwl + t.burst
    rows = [
        Constraint(ACT, RD, BANK, t.rcd_rd, "tRCDRD"),
        Constraint(ACT, WR, BANK, t.rcd_wr, "tRCDWR"),
        Constraint(ACT, PRE, BANK, t.ras, "tRAS"),
        Constraint(ACT, ACT, BANK, t.rc, "tRC"),
        Constraint(PRE, ACT, BANK, t.rp, "tRP"),
        Constraint(RD, PRE, BANK, t.rtp, "tRTP"),
        Constraint(WR, PRE, BANK, write_end + t.wr, "CWL+BL+tWR"),
        Constraint(ACT, ACT, GROUP, t.rrd_l, "tRRD_L"),
        Constraint(ACT, ACT, PC, t.rrd_s, "tRRD_S"),
        Constraint(ACT, ACT, PC, t.faw, "tFAW", window=4),
        Constraint(RD, RD, GROUP, t.ccd_l, "tCCD_L"),
        Constraint(RD, RD, PC, t.ccd_s, "tCCD_S"),
        Constraint(WR, WR, GROUP, t.ccd_l, "tCCD_L"),
        Constraint(WR, WR, PC, t.ccd_s, "tCCD_S"),
        Constraint(WR, RD, GROUP, write_end + t.wtr_l, "CWL+BL+tWTR_L"),
        Constraint(WR, RD, PC, write_end + t.wtr_s, "CWL+BL+tWTR_S"),
        Constraint(RD, WR, PC, t.rtw, "tRTW"),
        Constraint(RD, RD, PC, t.burst, "data bus"),
        Constraint(WR, WR, PC, t.burst, "data bus"),
        Constraint(RD, WR, PC, t.cl + t.burst - t.cwl, "data bus"),
        Constraint(RD, RD, CHANNEL, 1, "column slot"),
        Constraint(RD, WR, CHANNEL, 1, "column slot"),
        Constraint(WR, RD, CHANNEL, 1, "column slot"),
        Constraint(WR, WR, CHANNEL, 1, "column slot"),
        Constraint(PRE, REFPB, BANK, t.rp, "tRP"),
        Constraint(ACT, REFPB, BANK, t.rc, "tRC"),
        Constraint(ACT, REFPB, GROUP, t.rrd_l, "tRRD_L"),
        Constraint(ACT, REFPB, PC, t.rrd_s, "tRRD_S"),
        Constraint(REFPB, ACT, BANK, t.rfc_pb, "tRFCpb"),
        Constraint(REFPB, REFPB, BANK, t.rfc_pb, "tRFCpb"),
        Constraint(REFPB, ACT, PC, t.rrefd, "tRREFD"),
        Constraint(REFPB, REFPB, PC, t.rrefd, "tRREFD"),
        Constraint(ACT, PREAB, PC, t.ras, "tRAS"),
        Constraint(RD, PREAB, PC, t.rtp, "tRTP"),
        Constraint(WR, PREAB, PC, write_end + t.wr, "CWL+BL+tWR"),
        Constraint(PREAB, ACT, PC, t.rp, "tRP"),
        Constraint(PREAB, REFAB, PC, t.rp, "tRP"),
        Constraint(PRE, REFAB, PC, t.rp, "tRP"),
        Constraint(ACT, REFAB, PC, t.rc, "tRC"),
        Constraint(REFAB, ACT, PC, t.rfc, "tRFCab"),
        Constraint(REFAB, REFAB, PC, t.rfc, "tRFCab"),
    ]
    slots = (t.act_slots, 0, 0, t.pre_slots, t.pre_slots, t.refresh_slots, t.refresh_slots)
    return ConstraintTable(
        tuple(row for row in rows if row.distance_clocks > 0), slots, t.row_slots_per_clock
    )


@rule
def scope_of(
    level: int, pseudo_channel: int, bank: int, pseudo_channels: int, groups: int, group_banks: int
) -> int:
    """Index of the bank, group, pseudo-channel or channel that a command touches, in one common numbering."""
    banks = groups * group_banks
    if level == 0:
        return pseudo_channel * banks + bank
    base = pseudo_channels * banks
    if level == 1:
        return base + pseudo_channel * groups + bank // group_banks
    base += pseudo_channels * groups
    if level == 2:
        return base + pseudo_channel
    return base + pseudo_channels


@rule
def scopes(pseudo_channels: int, groups: int, group_banks: int) -> int:
    """How many scopes a channel has."""
    return pseudo_channels * (groups * group_banks + groups + 1) + 1


@rule
def history_size(pseudo_channels: int, groups: int, group_banks: int) -> int:
    """Length of the sequence of times that :func:`legal_at` reads and :func:`record` writes.

    Last issue of each of the 7 commands by scope; then the last 4 activates of each pseudo-channel, oldest
    first; then the first free slot of the row-command bus. All entries start at `NEVER`, the last one at 0.
    """
    return 7 * scopes(pseudo_channels, groups, group_banks) + 4 * pseudo_channels + 1


@rule
def legal_at(
    rows: Sequence[int],
    row_slots: int,
    row_slots_per_clock: int,
    history: Sequence[int],
    shape: Sequence[int],
    command: int,
    pseudo_channel: int,
    bank: int,
) -> int:
    """First memory clock at which `command` is legal, from the flat table and the times of past commands.

    `shape` is (pseudo-channels, bank groups, banks a group); `row_slots` is what the command takes of the
    row bus (0 for a column command). Whether the bank has the right row open is not looked at.
    """
    pseudo_channels = shape[0]
    count = scopes(pseudo_channels, shape[1], shape[2])
    earliest = 0
    if row_slots > 0:
        earliest = history[7 * count + 4 * pseudo_channels] // row_slots_per_clock
    for index in range(0, len(rows), 5):
        if rows[index + 1] == command:
            if rows[index + 4] > 1:
                last = history[7 * count + 4 * pseudo_channel + 4 - rows[index + 4]]
            else:
                scope = scope_of(rows[index + 2], pseudo_channel, bank, pseudo_channels, shape[1], shape[2])
                last = history[rows[index] * count + scope]
            if last + rows[index + 3] > earliest:
                earliest = last + rows[index + 3]
    return earliest


@rule
def record(
    history: MutableSequence[int],
    row_slots: int,
    row_slots_per_clock: int,
    shape: Sequence[int],
    command: int,
    pseudo_channel: int,
    bank: int,
    clock: int,
) -> int:
    """Enter a command issued at `clock` in the history; returns `clock`."""
    pseudo_channels = shape[0]
    count = scopes(pseudo_channels, shape[1], shape[2])
    for level in range(4):
        scope = scope_of(level, pseudo_channel, bank, pseudo_channels, shape[1], shape[2])
        history[command * count + scope] = clock
    if command == 0:
        base = 7 * count + 4 * pseudo_channel
        for index in range(3):
            history[base + index] = history[base + index + 1]
        history[base + 3] = clock
    if row_slots > 0:
        bus = 7 * count + 4 * pseudo_channels
        start = clock * row_slots_per_clock
        if history[bus] > start:
            start = history[bus]
        history[bus] = start + row_slots
    return clock

"""The distances of a constraint table in the form that the DRAM channel applies after each command.

A channel keeps, for each bank, group and pseudo-channel, the first clock at which a command is legal again;
these numbers say by how much each command moves those clocks. They are read from the table of the standard,
and a table with a row that the channel would not apply is refused, so that no constraint is dropped in
silence.
"""

from dataclasses import dataclass

from hwmodels.dram.timing import Command, ConstraintTable, Level
from hwmodels.errors import InputError

ACT, RD, WR, PRE, PREAB, REFPB, REFAB = Command
BANK, GROUP, PC, CHANNEL = Level


@dataclass(frozen=True, slots=True)
class Distances:
    """Clocks from one command to another; the name says which and where. Pairs are (read, write)."""

    act_column: tuple[int, int]
    act_pre: int
    act_act_bank: int
    act_act_group: int
    act_act_pc: int
    four_acts: int
    act_refresh_bank: int
    act_refresh_group: int
    act_refresh_pc: int
    act_refresh_all: int
    column_group: tuple[tuple[int, int], tuple[int, int]]
    """By previous mode, then following mode, in one bank group."""
    column_pc: tuple[tuple[int, int], tuple[int, int]]
    column_pre: tuple[int, int]
    pre_act: int
    pre_refresh_bank: int
    pre_refresh_all: int
    pre_all_act: int
    pre_all_refresh_all: int
    refresh_act_bank: int
    refresh_refresh_bank: int
    refresh_act_pc: int
    refresh_refresh_pc: int
    refresh_all_act: int
    refresh_all_refresh_all: int
    act_slots: int
    pre_slots: int
    refresh_slots: int
    slots_per_clock: int


def distances_of(table: ConstraintTable) -> Distances:
    """Read a table; raises :class:`InputError` for a row that the channel does not know."""
    used: set[tuple[Command, Command, Level, int]] = set()

    def gap(previous: Command, following: Command, level: Level, window: int = 1) -> int:
        used.add((previous, following, level, window))
        return table.distance(previous, following, level, window)

    def pairs(level: Level) -> tuple[tuple[int, int], tuple[int, int]]:
        return ((gap(RD, RD, level), gap(RD, WR, level)), (gap(WR, RD, level), gap(WR, WR, level)))

    for previous in (RD, WR):
        for following in (RD, WR):
            if gap(previous, following, CHANNEL) > 1:
                raise _refusal(
                    f"{previous.name} to {following.name} in a channel", "one clock is what it keeps"
                )
    # One precharge of all banks obeys what binds a precharge of each: the slowest open bank decides.
    for previous, distance in (
        (ACT, gap(ACT, PRE, BANK)),
        (RD, gap(RD, PRE, BANK)),
        (WR, gap(WR, PRE, BANK)),
    ):
        if gap(previous, PREAB, PC) > distance:
            raise _refusal(f"{previous.name} to PREAB", "no more than to PRE of the bank")
    found = Distances(
        act_column=(gap(ACT, RD, BANK), gap(ACT, WR, BANK)),
        act_pre=gap(ACT, PRE, BANK),
        act_act_bank=gap(ACT, ACT, BANK),
        act_act_group=gap(ACT, ACT, GROUP),
        act_act_pc=gap(ACT, ACT, PC),
        four_acts=gap(ACT, ACT, PC, 4),
        act_refresh_bank=gap(ACT, REFPB, BANK),
        act_refresh_group=gap(ACT, REFPB, GROUP),
        act_refresh_pc=gap(ACT, REFPB, PC),
        act_refresh_all=gap(ACT, REFAB, PC),
        column_group=pairs(GROUP),
        column_pc=pairs(PC),
        column_pre=(gap(RD, PRE, BANK), gap(WR, PRE, BANK)),
        pre_act=gap(PRE, ACT, BANK),
        pre_refresh_bank=gap(PRE, REFPB, BANK),
        pre_refresh_all=gap(PRE, REFAB, PC),
        pre_all_act=gap(PREAB, ACT, PC),
        pre_all_refresh_all=gap(PREAB, REFAB, PC),
        refresh_act_bank=gap(REFPB, ACT, BANK),
        refresh_refresh_bank=gap(REFPB, REFPB, BANK),
        refresh_act_pc=gap(REFPB, ACT, PC),
        refresh_refresh_pc=gap(REFPB, REFPB, PC),
        refresh_all_act=gap(REFAB, ACT, PC),
        refresh_all_refresh_all=gap(REFAB, REFAB, PC),
        act_slots=table.row_slots[ACT],
        pre_slots=table.row_slots[PRE],
        refresh_slots=table.row_slots[REFPB],
        slots_per_clock=table.row_slots_per_clock,
    )
    for row in table.rows:
        if (row.previous, row.following, row.level, row.window) not in used:
            raise _refusal(f"{row.name} ({row.previous.name} to {row.following.name})", "leave the row out")
    return found


def _refusal(problem: str, remedy: str) -> InputError:
    return InputError("DRAM constraint table", f"the channel model does not apply {problem}", remedy)

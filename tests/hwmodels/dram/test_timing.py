"""The constraint table: each row binds to the clock, the whole table equals a naive reading of it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.probes.dram_sets import _SETS, peer_spec
from hwmodels.dram.clocks import table_of, timing_clocks, whole_clocks
from hwmodels.dram.standards import STANDARDS, standard
from hwmodels.dram.timing import NEVER, Command, ConstraintTable, Level, history_size, legal_at, record
from hwmodels.errors import InputError

SHAPE = (2, 4, 4)
TABLES = {name: table_of(peer_spec(name)) for name in _SETS}
ROWS = [(name, row) for name, table in TABLES.items() for row in table.rows]


def fresh_history():
    return [NEVER] * (history_size(*SHAPE) - 1) + [0]


def legal(table, history, command, pseudo_channel, bank):
    slots = table.row_slots[command]
    per_clock = table.row_slots_per_clock
    return legal_at(table.flat(), slots, per_clock, history, SHAPE, command, pseudo_channel, bank)


def enter(table, history, command, pseudo_channel, bank, clock):
    slots = table.row_slots[command]
    record(history, slots, table.row_slots_per_clock, SHAPE, command, pseudo_channel, bank, clock)


def shares(level, one, other):
    """Whether two (pseudo-channel, bank) meet on a level."""
    if level == Level.CHANNEL:
        return True
    if one[0] != other[0]:
        return False
    return {
        Level.BANK: one[1] == other[1],
        Level.BANK_GROUP: one[1] // SHAPE[2] == other[1] // SHAPE[2],
        Level.PSEUDO_CHANNEL: True,
    }[level]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda value: getattr(value, "name", value))
def test_each_row_is_legal_at_its_distance_and_not_a_clock_before(name, row):
    table = TABLES[name]
    only = ConstraintTable((row,), (0,) * 7, 1)
    history = fresh_history()
    first = 1000
    for turn in range(row.window):
        enter(only, history, row.previous, 0, 5, first + turn)
    assert legal(only, history, row.following, 0, 5) == first + row.distance_clocks
    apart = {Level.BANK: (0, 6), Level.BANK_GROUP: (0, 9), Level.PSEUDO_CHANNEL: (1, 5)}
    if row.level in apart:
        assert legal(only, history, row.following, *apart[row.level]) == 0
    # In the whole table nothing makes it legal earlier.
    history = fresh_history()
    for turn in range(row.window):
        enter(table, history, row.previous, 0, 5, first + turn)
    assert legal(table, history, row.following, 0, 5) >= first + row.distance_clocks


def naive_legal(table, past, command, where):
    """The table read literally, over the whole past."""
    earliest = 0
    for row in table.rows:
        if row.following == command:
            clocks = [
                clock
                for clock, other, place in past
                if other == row.previous and shares(row.level, place, where)
            ]
            if len(clocks) >= row.window:
                earliest = max(earliest, clocks[-row.window] + row.distance_clocks)
    if table.row_slots[command]:
        free = 0
        for clock, other, _ in past:
            if table.row_slots[other]:
                free = max(free, clock * table.row_slots_per_clock) + table.row_slots[other]
        earliest = max(earliest, free // table.row_slots_per_clock)
    return earliest


commands = st.tuples(
    st.sampled_from(list(Command)), st.integers(0, 1), st.integers(0, 15), st.integers(0, 30)
)


@given(st.sampled_from(sorted(TABLES)), st.lists(commands, min_size=1, max_size=25))
@settings(max_examples=150, deadline=None)
def test_legality_equals_a_naive_reading_of_the_table(name, sequence):
    table = TABLES[name]
    history = fresh_history()
    past = []
    clock = 0
    for command, pseudo_channel, bank, idle in sequence:
        earliest = legal(table, history, command, pseudo_channel, bank)
        assert earliest == naive_legal(table, past, command, (pseudo_channel, bank))
        clock = max(clock, earliest) + idle
        enter(table, history, command, pseudo_channel, bank, clock)
        past.append((clock, command, (pseudo_channel, bank)))


def test_row_commands_of_hbm3_take_one_and_a_half_and_half_a_clock():
    table = TABLES["Ramulator 2.1 HBM3"]
    slots = ConstraintTable((), table.row_slots, table.row_slots_per_clock)
    history = fresh_history()
    clock = 10
    issued = []
    for turn in range(8):
        clock = max(clock + 1, legal(slots, history, Command.ACT, 0, turn)) if turn else clock
        enter(slots, history, Command.ACT, 0, turn, clock)
        issued.append(clock)
    assert [later - first for first, later in zip(issued, issued[2:], strict=False)] == [3] * 6


@given(st.integers(0, 10**10), st.integers(100_000, 3_000_000))
def test_whole_clocks_round_up_less_a_hundredth(time_fs, period_fs):
    assert whole_clocks(time_fs, period_fs) == math.ceil(Fraction(time_fs, period_fs) - Fraction(1, 100))


@pytest.mark.parametrize("name", sorted(_SETS))
def test_a_set_stated_in_clocks_comes_back_as_those_clocks(name):
    clocks = timing_clocks(peer_spec(name))
    values = _SETS[name][6]
    assert (clocks.cl, clocks.cwl, clocks.rcd_rd, clocks.rcd_wr) == values[:4]
    assert (clocks.rfc, clocks.refi, clocks.rfc_pb, clocks.refi_pb) == values[-4:]
    assert clocks.burst == 2


def test_a_burst_is_two_clocks_of_every_standard_and_periods_follow_the_pin_rate():
    assert {kind.burst_clocks for kind in STANDARDS.values()} == {2}
    assert standard("HBM2").period_fs(2000) == 1_000_000
    assert standard("HBM3").period_fs(6400) == 625_000
    assert standard("GDDR6").period_fs(14000) == 571_429


def test_an_unknown_standard_names_the_nearest():
    with pytest.raises(InputError, match="HBM3"):
        standard("HBM33")

"""The DRAM channel obeys every row of its constraint table, and no row costs a clock more than it says.

Every command of random traffic is held against the table by the pure rules; then each row in turn is made the
longest one, and the shortest distance seen under traffic must be exactly that row's: at t, never at t - 1.
"""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.probes.dram_sets import peer_spec
from hwmodels.dram.clocks import table_of
from hwmodels.dram.timing import (
    NEVER,
    Command,
    Constraint,
    ConstraintTable,
    Level,
    history_size,
    legal_at,
    record,
)
from hwmodels.errors import InputError
from simulator.machine.reference.dram import DramChannel

SETS = ("Ramulator 2.1 HBM2", "Ramulator 2.1 HBM3", "DRAMSys HBM2")
COLUMN = (Command.RD, Command.WR)
REFRESH = (Command.REFPB, Command.REFAB)


def traffic(random, spec, count, pseudo_channels, write_share, locality, idle):
    """Requests as (clock, write, pseudo-channel, sector): `locality` rows of the banks, in bursts."""
    clock = 0
    for _ in range(count):
        if random.random() < 0.1:
            clock += random.randrange(idle)
        sector = random.randrange(512) + 512 * random.randrange(locality)
        yield clock, random.random() < write_share, random.randrange(pseudo_channels), sector


def drive(channel, requests):
    """Offer the requests in order, tick at the clocks that the channel asks for, until nothing is left."""
    requests = list(requests)
    ck, at = 0, 0
    while True:
        while at < len(requests) and requests[at][0] <= ck:
            _, write, pc, sector = requests[at]
            if not (channel.can_accept_write(pc) if write else channel.can_accept_read(pc)):
                break
            (channel.push_write if write else channel.push_read)(ck, pc, sector, at)
            at += 1
        channel.tick(ck)
        following = channel.next_ck(ck)
        if following is None:
            if at == len(requests):
                return ck
            following = max(requests[at][0], ck + 1)
        elif at < len(requests) and ck < requests[at][0] < following:
            following = requests[at][0]
        ck = following


def check(channel):
    """Hold the recorded commands against the table, the state of the rows and the command slots."""
    table, state = channel.table, channel.state
    pcs = len(state.pseudo_channels)
    groups = len(state.pseudo_channels[0].group_act)
    banks = len(state.pseudo_channels[0].banks)
    shape = (pcs, groups, banks // groups)
    history = [NEVER] * (history_size(*shape) - 1) + [0]
    open_banks = set()
    last = {True: -1, False: -1}
    flat, per_clock = table.flat(), table.row_slots_per_clock
    for clock, command, pc, bank in channel.trace:
        slots = table.row_slots[command]
        assert clock > last[command in COLUMN], "one command a clock and bus"
        last[command in COLUMN] = clock
        assert clock >= legal_at(flat, slots, per_clock, history, shape, command, pc, bank), command
        record(history, slots, per_clock, shape, command, pc, bank, clock)
        if command == Command.ACT:
            assert (pc, bank) not in open_banks
            open_banks.add((pc, bank))
        elif command in COLUMN:
            assert (pc, bank) in open_banks
        elif command == Command.PRE:
            open_banks.remove((pc, bank))
        elif command == Command.PREAB:
            open_banks = {place for place in open_banks if place[0] != pc}
        elif command == Command.REFPB:
            assert (pc, bank) not in open_banks
        else:
            assert all(place[0] != pc for place in open_banks)


@given(
    st.sampled_from(SETS),
    st.sampled_from(["per_bank", "all_bank", "none"]),
    st.integers(1, 2),
    st.integers(0, 1 << 30),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([8, 600]),
    st.sampled_from([1, 4, 32]),
)
@settings(max_examples=40, deadline=None)
def test_no_command_of_random_traffic_breaks_the_table(
    name, refresh, pcs, seed, writes, locality, idle, queue
):
    spec = replace(
        peer_spec(name, refresh=refresh, queue=queue), drain_high=max(queue * 3 // 4, 1), drain_low=0
    )
    channel = DramChannel(spec, pcs)
    channel.trace = []
    requests = list(traffic(Random(seed), spec, 300, pcs, writes, locality, idle))
    drive(channel, requests)
    check(channel)
    served = sum(
        pc.counters.reads + pc.counters.writes + pc.counters.forwarded for pc in channel.state.pseudo_channels
    )
    assert served == len(requests)
    assert sorted(done[1] for done in channel.completions) == list(range(len(requests)))


def distances_seen(trace, row, group_banks):
    """All distances from the window-th last `previous` to a `following` that shares the row's level."""
    past = {}
    seen = []
    for clock, command, pc, bank in trace:
        key = {
            Level.BANK: (pc, bank),
            Level.BANK_GROUP: (pc, bank // group_banks),
            Level.PSEUDO_CHANNEL: pc,
        }[row.level]
        if command == row.following and len(past.get(key, ())) >= row.window:
            seen.append(clock - past[key][-row.window])
        if command == row.previous:
            past.setdefault(key, []).append(clock)
    return seen


def rows_to_stretch():
    table = table_of(peer_spec(SETS[0]))
    return [row for row in table.rows if row.level != Level.CHANNEL]


@pytest.mark.parametrize(
    "row", rows_to_stretch(), ids=lambda row: f"{row.previous.name} {row.following.name} {row.name}"
)
def test_each_row_is_met_to_the_clock(row):
    all_bank = {Command.PREAB, Command.REFAB} & {row.previous, row.following}
    spec = peer_spec(SETS[0], refresh="all_bank" if all_bank else "per_bank", queue=32)
    base = table_of(spec)
    # Longer than all others; two refreshes are further apart than that by themselves.
    long = 6000 if row.previous in REFRESH and row.following in REFRESH else 700
    stretched = []
    for other in base.rows:
        same = other == row
        # A precharge of all banks waits for what a precharge of each waits for: both are stretched.
        if row.following == Command.PREAB:
            same = same or (other.previous, other.following) == (row.previous, Command.PRE)
        stretched.append(replace(other, distance_clocks=long) if same else other)
    channel = DramChannel(
        spec, 2, ConstraintTable(tuple(stretched), base.row_slots, base.row_slots_per_clock)
    )
    channel.trace = []
    ck = drive(channel, traffic(Random(7), spec, 1200, 2, 0.4, 3, 400))
    channel.advance(ck + 20_000)
    seen = distances_seen(channel.trace, row, 4)
    assert min(seen) == long


@pytest.mark.parametrize("command", [Command.ACT, Command.PRE, Command.REFPB])
def test_a_row_command_holds_the_row_bus_for_its_slots_and_no_longer(command):
    spec = peer_spec(SETS[0], refresh="per_bank", queue=32)
    base = table_of(spec)
    slots = tuple(11 if one == command else count for one, count in zip(Command, base.row_slots, strict=True))
    channel = DramChannel(spec, 2, ConstraintTable(base.rows, slots, 1))
    channel.trace = []
    drive(channel, traffic(Random(3), spec, 600, 2, 0.3, 8, 100))
    row_commands = [(clock, one) for clock, one, _, _ in channel.trace if one not in COLUMN]
    after = {}
    for (clock, one), (following, _) in pairwise(row_commands):
        after.setdefault(one, []).append(following - clock)
    assert min(after[command]) == 11
    assert all(min(gaps) == slots[one] for one, gaps in after.items() if one != Command.REFPB)


def test_a_row_that_the_channel_would_not_apply_is_refused():
    spec = peer_spec(SETS[0])
    base = table_of(spec)
    extra = Constraint(Command.PRE, Command.PRE, Level.CHANNEL, 2, "tPPD")
    with pytest.raises(InputError, match="tPPD"):
        DramChannel(spec, 1, ConstraintTable((*base.rows, extra), base.row_slots, base.row_slots_per_clock))

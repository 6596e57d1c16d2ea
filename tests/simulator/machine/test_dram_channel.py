"""The DRAM channel against closed forms: latencies to the clock, order, drain, refresh, counters, idle."""

from dataclasses import asdict, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.probes.dram_sets import peer_spec
from hwmodels.dram.address_map import Place
from hwmodels.dram.timing import Command
from simulator.machine.reference.dram import DramChannel
from simulator.machine.state_dram import READ, WRITE

SETS = ("Ramulator 2.1 HBM2", "Ramulator 2.1 HBM3", "DRAMSys HBM2")


def quiet(name=SETS[0], **changes):
    return replace(peer_spec(name, refresh="none"), **changes)


def sector(channel, row=0, column=0, bank=0, bank_group=0):
    return channel.map.encode(Place(bank_group, bank, row, column))


def finish(channel, ck=0):
    """Tick at the clocks that the channel asks for until it holds no request; its completions by token."""
    while ck is not None:
        channel.tick(ck)
        ck = channel.next_ck(ck)
    return {
        token: (done, queued, first, column) for done, token, queued, first, column in channel.completions
    }


@pytest.mark.parametrize("name", SETS)
def test_unloaded_latencies_are_the_closed_forms(name):
    channel = DramChannel(quiet(name), 1)
    t = channel.clocks
    channel.push_read(0, 0, sector(channel), "closed")
    assert finish(channel)["closed"] == (t.rcd_rd + t.cl + t.burst, 0, 0, t.rcd_rd)
    channel.push_read(200, 0, sector(channel, column=1), "hit")
    assert finish(channel, 200)["hit"] == (200 + t.cl + t.burst, 200, 200, 200)
    channel.push_read(400, 0, sector(channel, row=1), "conflict")
    opened = 400 + t.rp + t.rcd_rd
    assert finish(channel, 400)["conflict"] == (opened + t.cl + t.burst, 400, 400, opened)
    channel.push_write(600, 0, sector(channel, row=1, column=1), "write")
    assert finish(channel, 600)["write"] == (600 + t.cwl + t.burst, 600, 600, 600)


def test_published_unloaded_latencies():
    """HBM2 at 2 Gbit/s: hit 16 ns, conflict 44 ns, one bank every 48 ns; HBM3 at 6.4: 14, 49.6, tRC 45 ns."""
    hbm2, hbm3 = (DramChannel(quiet(name), 1).clocks for name in SETS[:2])
    assert hbm2.cl + hbm2.burst == 16
    assert hbm2.rp + hbm2.rcd_rd + hbm2.cl + hbm2.burst == 44
    assert hbm2.rc == 48
    assert abs((hbm3.cl + hbm3.burst) * 0.625 - 14) <= 0.625
    assert abs((hbm3.rp + hbm3.rcd_rd + hbm3.cl + hbm3.burst) * 0.625 - 49.6) <= 0.625


def test_one_bank_with_new_rows_takes_the_row_cycle():
    channel = DramChannel(quiet(), 1)
    for row in range(6):
        channel.push_read(0, 0, sector(channel, row=row), row)
    done = finish(channel)
    assert [done[row + 1][0] - done[row][0] for row in range(5)] == [channel.clocks.rc] * 5


def test_row_hits_overtake_and_the_oldest_goes_first_among_them():
    channel = DramChannel(quiet(), 1)
    for token, row in enumerate([0, 1, 0, 1, 0]):
        channel.push_read(0, 0, sector(channel, row=row, column=token), token)
    done = finish(channel)
    assert sorted(done, key=lambda token: done[token][0]) == [0, 2, 4, 1, 3]


def test_a_request_beyond_the_age_limit_ends_the_row_hits():
    spec = quiet(age_limit_cycles=60)
    channel = DramChannel(spec, 1)
    channel.push_read(0, 0, sector(channel), -1)
    channel.push_read(0, 0, sector(channel, row=1), "old")
    for ck in range(400):
        if ck % 4 == 0:
            channel.push_read(ck, 0, sector(channel, column=ck // 4), ck)
        channel.tick(ck)
    done = finish(channel, 400)
    limit = 60 + channel.clocks.ccd_l + channel.clocks.rtp + channel.clocks.rp + channel.clocks.rcd_rd
    assert done["old"][3] <= limit + 1
    assert any(done[ck][3] > done["old"][3] for ck in range(0, 400, 4))


def test_a_read_of_a_waiting_write_is_answered_from_the_queue():
    channel = DramChannel(quiet(), 1)
    channel.push_write(0, 0, 5, "write")
    channel.push_read(3, 0, 5, "read")
    assert channel.completions == [(3 + channel.clocks.burst, "read", 3, 3, 3)]
    finish(channel)
    assert channel.state.pseudo_channels[0].counters.forwarded == 1
    channel.push_read(500, 0, 5, "later")
    assert finish(channel, 500)["later"][3] == 500
    assert channel.state.pseudo_channels[0].write_sectors == {}


def test_writes_wait_for_the_high_mark_and_stop_at_the_low_mark():
    channel = DramChannel(quiet(drain_high=6, drain_low=2), 1)
    channel.trace = []
    channel.push_read(0, 0, sector(channel), "r0")
    for column in range(5):
        channel.push_write(0, 0, sector(channel, row=1, bank=1, column=column), column)
    ck = 0
    for turn in range(40):  # reads keep coming: five writes stay below the high mark
        channel.push_read(ck, 0, sector(channel, column=turn, bank_group=turn % 4), f"r{turn + 1}")
        channel.tick(ck)
        ck += 1
    pc = channel.state.pseudo_channels[0]
    assert (pc.mode, pc.waiting[WRITE]) == (READ, 5)
    channel.push_write(ck, 0, sector(channel, row=1, bank=1, column=9), 9)
    assert pc.mode == WRITE
    while pc.mode == WRITE:
        channel.tick(ck)
        ck += 1
    assert pc.waiting[WRITE] == 2
    finish(channel, ck)
    assert pc.counters.turnarounds == 3


def test_writes_without_reads_start_at_once_and_give_way_to_a_read():
    channel = DramChannel(quiet(), 1)
    for column in range(20):
        channel.push_write(0, 0, sector(channel, column=column), column)
    ck = 0
    for ck in range(30):
        channel.tick(ck)
    pc = channel.state.pseudo_channels[0]
    assert 0 < pc.waiting[WRITE] < 20
    channel.push_read(30, 0, sector(channel, column=25), "read")
    done = finish(channel, 30)
    last_write = max(done[column][3] for column in range(20) if done[column][3] < done["read"][3])
    t = channel.clocks
    assert done["read"][3] - last_write == t.cwl + t.burst + t.wtr_l


def test_the_older_request_of_two_pseudo_channels_goes_first():
    channel = DramChannel(quiet(), 2)
    channel.push_read(0, 1, sector(channel), "old")
    channel.push_read(0, 0, sector(channel), "young")
    done = finish(channel)
    assert (done["old"][2], done["young"][2]) == (0, channel.clocks.act_slots)


def test_queues_refuse_what_they_cannot_hold():
    channel = DramChannel(quiet(read_queue_depth=2, write_queue_depth=1), 2)
    assert channel.can_accept_read(0)
    channel.push_read(0, 0, 0, 0)
    channel.push_read(0, 0, 1, 1)
    channel.push_write(0, 0, 2, 2)
    assert not channel.can_accept_read(0)
    assert not channel.can_accept_write(0)
    assert channel.can_accept_read(1)


def test_the_closed_page_policy_never_meets_an_open_row():
    channel = DramChannel(quiet(page_policy="closed"), 1)
    t = channel.clocks
    for turn in range(4):
        channel.push_read(200 * turn, 0, sector(channel, row=turn), turn)
        assert finish(channel, 200 * turn)[turn][0] == 200 * turn + t.rcd_rd + t.cl + t.burst
    counters = channel.state.pseudo_channels[0].counters
    assert (counters.row_misses, counters.row_conflicts, counters.precharges) == (4, 0, 4)


def requests_of(seed, count, pcs, spread=3000):
    random = Random(seed)
    clock = 0
    for token in range(count):
        clock += random.choice([0, 0, 0, 1, 2, random.randrange(spread)])
        yield clock, random.random() < 0.4, random.randrange(pcs), random.randrange(2048), token


def run(channel, requests, extra):
    """Offer requests when they fit; tick at the asked clocks and, by `extra`, at others too."""
    waiting = list(requests)
    ck = 0
    while True:
        while waiting and waiting[0][0] <= ck:
            _, write, pc, where, token = waiting[0]
            if not (channel.can_accept_write(pc) if write else channel.can_accept_read(pc)):
                break
            (channel.push_write if write else channel.push_read)(ck, pc, where, token)
            waiting.pop(0)
        for _ in range(1 + extra.randrange(2) if extra else 1):
            channel.tick(ck)
        following = channel.next_ck(ck)
        if following is None and not waiting:
            return ck
        if waiting and (following is None or following > waiting[0][0] > ck):
            following = waiting[0][0]
        following = max(following, ck + 1)
        ck = extra.randrange(ck + 1, following + 1) if extra else following


@given(
    st.integers(0, 1 << 30),
    st.sampled_from(SETS),
    st.sampled_from(["per_bank", "all_bank", "none"]),
    st.sampled_from(["open", "closed"]),
    st.integers(1, 2),
)
@settings(max_examples=25, deadline=None)
def test_more_ticks_than_asked_for_change_nothing(seed, name, refresh, policy, pcs):
    spec = replace(peer_spec(name, refresh=refresh, queue=16), page_policy=policy)
    plain, busy = DramChannel(spec, pcs), DramChannel(spec, pcs)
    ends = [
        run(plain, requests_of(seed, 120, pcs), None),
        run(busy, requests_of(seed, 120, pcs), Random(seed)),
    ]
    assert plain.completions == busy.completions
    for channel in (plain, busy):
        channel.advance(max(ends) + 50_000)
    for one, other in zip(plain.state.pseudo_channels, busy.state.pseudo_channels, strict=True):
        assert asdict(one.counters) == asdict(other.counters)
        assert one.counters.queue_clocks == one.counters.wait_clocks, "Little's law"
        served = one.counters.reads + one.counters.writes
        assert one.counters.row_hits + one.counters.row_misses + one.counters.row_conflicts == served
        assert one.counters.busy_clocks == plain.clocks.burst * served


@pytest.mark.parametrize("refresh", ["per_bank", "all_bank"])
@pytest.mark.parametrize("pcs", [1, 2])
@pytest.mark.parametrize("gap", [100, 3_000, 15_599, 62_401, 200_003, 263_111])
def test_an_idle_gap_caught_up_equals_ticking_it(refresh, pcs, gap):
    spec = peer_spec(SETS[0], refresh=refresh)
    lazy, eager = DramChannel(spec, pcs), DramChannel(spec, pcs)
    first = list(requests_of(5, 60, pcs, 40))
    ends = [run(channel, first, None) for channel in (lazy, eager)]
    assert ends[0] == ends[1]
    start = ends[0] + gap
    for ck in range(ends[0] + 1, start):
        eager.tick(ck)
    later = [(clock + start, *rest) for clock, *rest in requests_of(6, 200, pcs, 40)]
    for channel in (lazy, eager):
        channel.completions.clear()
        run(channel, later, None)
    assert lazy.completions == eager.completions
    for one, other in zip(lazy.state.pseudo_channels, eager.state.pseudo_channels, strict=True):
        assert one.counters == other.counters
        assert (
            one.counters.refreshes
            >= gap // (lazy.clocks.refi if refresh == "all_bank" else lazy.clocks.refi_pb) - 8
        )


def test_idle_banks_are_refreshed_first_and_each_once_a_round():
    spec = peer_spec(SETS[0], refresh="per_bank", queue=64)
    channel = DramChannel(spec, 1)
    channel.trace = []
    ck = 0
    # One bank is kept busy for more than a round; it must be refreshed once a round all the same.
    while ck < 9 * 3904:
        if channel.can_accept_read(0):
            channel.push_read(ck, 0, sector(channel, column=ck % 32), ck)
        channel.tick(ck)
        ck += 2
    refreshed = [bank for _, command, _, bank in channel.trace if command == Command.REFPB]
    for start in range(0, len(refreshed) - 15, 16):
        assert sorted(refreshed[start : start + 16]) == list(range(16))
    counters = channel.state.pseudo_channels[0].counters
    due = ck // channel.clocks.refi_pb
    assert due - spec.refresh_postpone - 1 <= counters.refreshes <= due
    assert counters.refreshes_forced == sum(bank == 0 for bank in refreshed) > 0


def test_refresh_is_never_owed_for_longer_than_the_postponement_allows():
    spec = replace(peer_spec(SETS[0], refresh="per_bank", queue=128), refresh_postpone=2)
    channel = DramChannel(spec, 1)
    random = Random(2)
    most = 0
    for ck in range(30_000):
        if channel.can_accept_read(0):
            channel.push_read(ck, 0, random.randrange(1 << 20), ck)
        channel.tick(ck)
        most = max(most, channel.state.pseudo_channels[0].refresh_owed)
    assert most == 3


def test_all_bank_refresh_stops_the_pseudo_channel_for_its_time():
    channel = DramChannel(peer_spec(SETS[0], refresh="all_bank"), 1)
    t = channel.clocks
    channel.push_read(t.refi - 100, 0, sector(channel), "opens")
    finish(channel, t.refi - 100)
    channel.push_read(t.refi, 0, sector(channel, column=1), "waits")
    done = finish(channel, t.refi)["waits"]
    # The open row is closed first, then the refresh runs, then the row is opened again.
    assert done[3] == t.refi + t.rp + t.rfc + t.rcd_rd

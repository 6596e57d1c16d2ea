"""One request in an empty machine: every phase of its latency equals its closed form, by the card."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.crossbar import distance_cycles
from hwmodels.gpu import Gpu
from hwmodels.slice_hash import home_of
from simulator.machine.messages import ACK, ATOMIC, READ, REDUCE, REPLY, WRITE
from simulator.statistics.phases import (
    CROSSBAR_REPLY,
    CROSSBAR_REQUEST,
    DRAM_ACTIVATE,
    DRAM_BURST,
    DRAM_COLUMN,
    DRAM_CONTROLLER,
    DRAM_QUEUE,
    L2,
    PARTITION_LINK,
    PHASES,
)

CARDS = {name: Gpu.from_card(name) for name in ("v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm")}


def up(value, step):
    return -(-value // step)


def expected(gpu, sm, line, *, miss):
    """Phases in fs of a request that is sent at 0, from hop to hop."""
    period, clock = gpu.l2_period_fs, gpu.dram_period_fs
    spec, timing = gpu.crossbar, gpu.dram.timing
    home = home_of(line, gpu.l2.slices, gpu.l2.partitions)
    share = gpu.slices_per_partition
    side = sm * gpu.l2.partitions // gpu.sm_count
    far = home // share != side
    members = [one for one in range(gpu.sm_count) if one * gpu.l2.partitions // gpu.sm_count == side]
    distance = distance_cycles(members.index(sm), home % share, len(members), share, spec.spread_cycles)
    crossing = spec.partition_link_latency_cycles * far
    phases = [0] * len(PHASES)
    phases[CROSSBAR_REQUEST] = (spec.request_latency_cycles - spec.spread_cycles // 2 + distance) * period
    phases[L2] = gpu.l2.access_latency_cycles * period
    phases[PARTITION_LINK] = 2 * crossing * period
    phases[CROSSBAR_REPLY] = spec.reply_latency_cycles * period
    if miss:
        # An atomic has crossed when it gets here, a read crosses after half of its look-up: the same.
        there = gpu.l2.access_latency_cycles // 2 + crossing + gpu.l2.miss_latency_cycles // 2
        arrives = phases[CROSSBAR_REQUEST] + there * period
        first = up(arrives, clock) * clock
        column = first + up(timing.rcd_rd, clock) * clock
        burst = column + up(timing.cl, clock) * clock
        done = burst + timing.burst_fs
        ready = done + gpu.dram.controller_latency_ns * 10**6
        phases[DRAM_QUEUE] = first - arrives
        phases[DRAM_ACTIVATE] = column - first
        phases[DRAM_COLUMN] = burst - column
        phases[DRAM_BURST] = done - burst
        phases[DRAM_CONTROLLER] = ready - done
        phases[L2] += gpu.l2.miss_latency_cycles * period + up(ready, period) * period - ready
    return phases


def check(bench, packet, gpu, operation, sm, line, miss, sectors=1):
    run = bench(gpu, {sm: [(0, packet(operation, sm, line, sectors, lanes=1))]})
    if not miss:
        run.preload([line])
    run.run()
    [(arrival, kind, got)] = run.sms[sm].received
    assert kind == (REPLY if operation in {READ, ATOMIC} else ACK)
    fetches = miss and operation != WRITE
    assert got.phases == expected(gpu, sm, line, miss=fetches)
    assert sum(got.phases) == arrival
    assert run.total("dram_read_sectors") == fetches
    return arrival


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("operation", [READ, WRITE, ATOMIC, REDUCE])
@pytest.mark.parametrize("miss", [False, True])
@settings(max_examples=2, deadline=None, derandomize=True)
@given(data=st.data())
def test_every_phase_of_a_lone_request(bench_class, packet_maker, card, operation, miss, data):
    gpu = CARDS[card]
    sm = data.draw(st.integers(0, gpu.sm_count - 1))
    line = data.draw(st.integers(0, 2**30))
    check(bench_class, packet_maker, gpu, operation, sm, line, miss, 1 << data.draw(st.integers(0, 3)))


def near_and_far(gpu):
    """A line at home in SM 0's partition and one in the other, found at the same distance."""
    share = gpu.slices_per_partition
    homes = [(line, home_of(line, gpu.l2.slices, 2)) for line in range(5000)]
    near = next(line for line, home in homes if home == 3)
    far = next(line for line, home in homes if home == 3 + share)
    return near, far


@pytest.mark.parametrize("card", ["a100-sxm-40gb", "h100-sxm"])
def test_far_costs_two_crossings_more_than_near(bench_class, packet_maker, card):
    gpu = CARDS[card]
    near, far = near_and_far(gpu)
    extra = 2 * gpu.crossbar.partition_link_latency_cycles * gpu.l2_period_fs
    for operation in (READ, WRITE, ATOMIC, REDUCE):
        times = [check(bench_class, packet_maker, gpu, operation, 0, line, False) for line in (near, far)]
        assert times[1] - times[0] == extra
    times = [check(bench_class, packet_maker, gpu, READ, 0, line, True) for line in (near, far)]
    assert abs(times[1] - times[0] - extra) <= gpu.dram_period_fs + gpu.l2_period_fs


def test_a_copy_is_kept_near(bench_class, packet_maker):
    gpu = CARDS["a100-sxm-40gb"]
    near, far = near_and_far(gpu)
    run = bench_class(
        gpu, {0: [(0, packet_maker(READ, 0, far)), (5000, packet_maker(READ, 0, far, token=1))]}
    )
    run.run()
    first, second = [
        max(sum(got.phases) for _, _, got in run.sms[0].received if got.token == token) for token in (0, 1)
    ]
    assert first > second
    lone = bench_class(gpu, {0: [(0, packet_maker(READ, 0, near))]})
    lone.preload([near])
    lone.run()
    assert second == max(sum(got.phases) for _, _, got in lone.sms[0].received)


def test_the_halves_of_a_line_follow_each_other_by_a_cycle(bench_class, packet_maker):
    gpu = CARDS["v100-sxm2-16gb"]
    run = bench_class(gpu, {7: [(0, packet_maker(READ, 7, 1234))]})
    run.preload([1234])
    run.run()
    (early, _, low), (late, _, high) = run.sms[7].received
    assert (low.sectors, high.sectors) == (3, 12)
    assert low.payload_bytes == high.payload_bytes == 64
    assert late - early == gpu.l2_period_fs


def test_another_packet_size_cuts_the_line_otherwise(bench_class, packet_maker):
    for size, masks in ((32, [1, 2, 4, 8]), (128, [15])):
        gpu = CARDS["v100-sxm2-16gb"].with_overrides({"crossbar.packet_bytes": size})
        run = bench_class(gpu, {7: [(0, packet_maker(READ, 7, 1234))]})
        run.preload([1234])
        run.run()
        assert [got.sectors for _, _, got in run.sms[7].received] == masks

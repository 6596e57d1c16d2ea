"""L2 slices and their DRAM: sectors, write-backs, merging, atomics, copies, one question a test."""

import pytest

from hwmodels.gpu import Gpu
from hwmodels.slice_hash import home_of, line_from
from simulator.machine.messages import ACK, ATOMIC, READ, REDUCE, REPLY, WRITE
from simulator.statistics.phases import DRAM_BURST, L2_QUEUE, MSHR
from simulator.statistics.schema import INDEX

V100 = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
A100 = Gpu.from_card("a100-sxm-40gb").scaled("1/4")
STEP = 3000
"""Cycles after which a lone request is surely done."""


def one_set(ways):
    """A whole V100 with one set in each slice."""
    whole = Gpu.from_card("v100-sxm2-16gb")
    return whole.with_overrides({"l2.ways": ways, "l2.size_kib": whole.l2.slices * ways * 128 // 1024})


def lines_of(gpu, slice_id, count):
    return [line_from(slice_id, local, gpu.l2.slices, gpu.l2.partitions) for local in range(count)]


def in_turn(packets):
    """A script that sends a packet when the one before is done."""
    return [(place * STEP, packet) for place, packet in enumerate(packets)]


def traffic(run, *names):
    return [run.total(name) for name in names]


READS = ("l2_read_sectors", "l2_read_hits", "l2_read_misses", "l2_read_merges")


def test_sectors_are_fetched_one_by_one(bench_class, packet_maker):
    masks = [1, 1, 3, 15, 15]
    run = bench_class(V100, {0: in_turn([packet_maker(READ, 0, 5, mask) for mask in masks])}).run()
    assert traffic(run, *READS) == [12, 1 + 1 + 2 + 4, 1 + 1 + 2, 0]
    assert run.total("dram_read_sectors") == run.total("l2_fill_sectors") == 4


def test_whole_sectors_are_written_without_a_fetch_and_parts_need_one_when_read(bench_class, packet_maker):
    packets = [
        packet_maker(WRITE, 0, 5, 15, full=7, payload=100),
        packet_maker(READ, 0, 5, 7),
        packet_maker(READ, 0, 5, 8),
        packet_maker(READ, 0, 5, 8),
    ]
    run = bench_class(V100, {0: in_turn(packets)}).run()
    assert traffic(run, *READS) == [5, 4, 1, 0]
    assert run.total("dram_read_sectors") == 1
    assert traffic(run, "l2_write_sectors", "l2_write_bytes", "l2_dirty_left") == [4, 100, 4]


def test_the_least_recently_used_line_goes_and_takes_its_dirty_sectors(bench_class, packet_maker):
    gpu = one_set(2)
    first, second, third = lines_of(gpu, 1, 3)
    packets = [
        packet_maker(WRITE, 0, first, 5),
        packet_maker(READ, 0, second),
        packet_maker(READ, 0, first, 1),
        packet_maker(READ, 0, third),  # takes the way of `second`, which is clean
        packet_maker(READ, 0, first, 4),
        packet_maker(READ, 0, second),  # takes the way of `third`
        packet_maker(READ, 0, third),  # takes the way of `first`: two dirty sectors
    ]
    run = bench_class(gpu, {0: in_turn(packets)}).run()
    assert traffic(run, "l2_read_hits", "l2_read_misses") == [2, 16]
    assert traffic(run, "l2_writeback_sectors", "dram_write_sectors", "l2_dirty_left") == [2, 2, 0]
    assert run.total("dram_read_sectors") == 16


def test_a_write_back_belongs_to_the_kernel_that_last_dirtied_the_line(bench_class, packet_maker):
    gpu = one_set(1)
    first, second = lines_of(gpu, 1, 2)
    packets = [
        packet_maker(WRITE, 0, first, 1, kernel=0),
        packet_maker(WRITE, 0, first, 2, kernel=1),
        packet_maker(READ, 0, second, kernel=2),
        packet_maker(WRITE, 0, second, 8, kernel=2),
    ]
    run = bench_class(gpu, {0: in_turn(packets)}, kernels=3).run()

    def by_kernel(name):
        return [sum(part.counts[k][INDEX[name]] for part in run.partitions) for k in range(3)]

    assert by_kernel("l2_writeback_sectors") == by_kernel("dram_write_sectors") == [0, 2, 0]
    assert by_kernel("l2_dirty_left") == [0, 0, 1]
    assert by_kernel("dram_read_sectors") == [0, 0, 4]


def test_a_second_miss_to_the_same_sectors_waits_in_the_mshr(bench_class, packet_maker):
    scripts = {sm: [(0, packet_maker(READ, sm, 5, 1, token=sm))] for sm in range(2)}
    run = bench_class(V100, scripts).run()
    assert run.total("dram_read_sectors") == 1
    assert traffic(run, *READS) == [2, 0, 1, 1]
    waits = {got.token: got.phases for sm in run.sms for _, _, got in sm.received}
    own, merged = (waits[0], waits[1]) if waits[0][MSHR] == 0 else (waits[1], waits[0])
    assert own[DRAM_BURST] > 0
    assert merged[MSHR] > 0
    assert merged[DRAM_BURST] == 0


def test_one_mshr_serves_one_line_at_a_time(bench_class, packet_maker):
    many = {0: [(0, packet_maker(READ, 0, line, 1, token=line)) for line in lines_of(V100, 0, 6)]}
    times = {}
    for entries in (1, 256):
        gpu = V100.with_overrides({"l2.mshr_entries": entries})
        scripts = {0: [(0, packet_maker(READ, 0, p.line, 1, token=p.line)) for _, p in many[0]]}
        run = bench_class(gpu, scripts).run()
        assert len(run.sms[0].received) == 6
        assert max(part.misses.meter.most for one in run.partitions for part in one.slices) <= entries
        times[entries] = max(time for time, _, _ in run.sms[0].received)
        last = run.sms[0].received[-1][2]
        assert (last.phases[L2_QUEUE] > 1000 * gpu.l2_period_fs) == (entries == 1)
    assert times[1] > 3 * times[256]


@pytest.mark.parametrize("operation", [ATOMIC, REDUCE])
def test_atomics_on_one_line_follow_each_other_at_the_cards_interval(bench_class, packet_maker, operation):
    count, tenths = 100, V100.l2.atomic_interval_tenths
    scripts = {0: [(0, packet_maker(operation, 0, 5, 1, token=one, lanes=32)) for one in range(count)]}
    run = bench_class(V100, scripts)
    run.preload([5])
    run.run()
    times = [time // run.period for time, _, _ in run.sms[0].received]
    exact = [-(-tenths * place // 10) for place in range(count)]
    assert [time - times[0] for time in times] == exact
    assert traffic(run, "l2_atomic_requests", "l2_atomic_hits", "l2_dirty_left") == [count, count, 1]
    kind, payload = (REPLY, 32) if operation == ATOMIC else (ACK, 0)
    assert all((got[1], got[2].payload_bytes) == (kind, payload) for got in run.sms[0].received)


@pytest.mark.parametrize("operation", [ATOMIC, REDUCE])
def test_atomics_of_both_partitions_on_one_line_keep_the_interval(bench_class, packet_maker, operation):
    count = 16
    scripts = {
        sm: [(0, packet_maker(operation, sm, 5, 1, lanes=32)) for _ in range(count)]
        for sm in range(A100.sm_count)
    }
    run = bench_class(A100, scripts)
    run.preload([5])
    run.run()
    times = sorted(time // run.period for sm in run.sms for time, _, _ in sm.received)
    interval = (times[-1] - times[0]) / (count * A100.sm_count)
    # Replies that cross end later than the others by one crossing.
    crossing = A100.crossbar.partition_link_latency_cycles / (count * A100.sm_count)
    assert interval - crossing == pytest.approx(A100.l2.atomic_interval_tenths / 10, rel=0.15)


def test_atomics_fetch_what_is_missing_and_leave_it_dirty(bench_class, packet_maker):
    packets = [packet_maker(operation, 0, 5, 6, lanes=4) for operation in (REDUCE, ATOMIC, READ)]
    run = bench_class(V100, {0: in_turn(packets)}).run()
    assert traffic(run, "l2_atomic_sectors", "l2_atomic_hits", "l2_atomic_misses") == [4, 2, 2]
    assert traffic(run, "l2_read_hits", "dram_read_sectors", "l2_dirty_left") == [2, 2, 2]


def far_line(gpu, sm=0):
    side = sm * 2 // gpu.sm_count
    return next(
        line for line in range(500) if home_of(line, gpu.l2.slices, 2) // gpu.slices_per_partition != side
    )


def test_a_write_at_home_drops_the_copy_in_the_other_partition(bench_class, packet_maker):
    line = far_line(A100)
    other = A100.sm_count - 1
    reads = in_turn([packet_maker(READ, 0, line, token=one) for one in range(2)])
    reads.append((4 * STEP, packet_maker(READ, 0, line, token=2)))
    write = [(2 * STEP, packet_maker(WRITE, other, line, 2))]
    run = bench_class(A100, {0: reads, other: write}).run()
    assert traffic(run, *READS) == [12, 4 + 3, 4 + 1, 0]
    assert traffic(run, "link_read_sectors", "link_read_hits", "link_read_misses") == [5, 1, 4]
    assert traffic(run, "link_invalidations", "dram_read_sectors", "l2_fill_sectors") == [1, 4, 9]
    assert run.total("link_bytes") == 5 * 32


def test_a_write_while_the_copy_is_on_its_way_leaves_no_stale_copy(bench_class, packet_maker):
    line = far_line(A100)
    other = A100.sm_count - 1
    period = A100.l2_period_fs
    lone = bench_class(A100, {0: [(0, packet_maker(READ, 0, line))]}).run()
    arrival = lone.sms[0].received[-1][0] // period
    for ahead in range(100, 250, 10):
        scripts = {
            0: [(0, packet_maker(READ, 0, line)), (2 * STEP, packet_maker(READ, 0, line, 1, token=1))],
            other: [(arrival - ahead, packet_maker(WRITE, other, line, 1))],
        }
        run = bench_class(A100, scripts).run()
        assert len(run.sms[0].received) == 3
        if run.total("link_invalidations"):
            assert run.total("link_read_sectors") == 5


def test_intervals_cut_the_counters_without_losing_any(bench_class, packet_maker):
    script = [(100 * place, packet_maker(READ, 0, 4 * place)) for place in range(30)]
    period = V100.l2_period_fs
    run = bench_class(V100, {0: script}, interval_fs=700 * period).run()
    index = INDEX["l2_read_sectors"]
    for part in run.partitions:
        counted = [counts[0][index] for _, counts in part.intervals.snapshots]
        assert counted == sorted(counted)
        assert counted[-1] <= part.counts[0][index]
        edges = [edge for edge, _ in part.intervals.snapshots]
        assert edges == [700 * period * (place + 1) for place in range(len(edges))]
    at_first_edge = sum(part.intervals.snapshots[0][1][0][index] for part in run.partitions)
    a_day = V100.crossbar.request_latency_cycles + V100.crossbar.spread_cycles // 2
    assert 4 * ((700 - a_day) // 100) <= at_first_edge <= 4 * 7


def test_waits_name_the_resource_and_its_holder(bench_class, packet_maker):
    gpu = V100.with_overrides({"l2.mshr_entries": 1})
    scripts = {0: [(0, packet_maker(READ, 0, line, 1)) for line in lines_of(gpu, 0, 3)]}
    run = bench_class(gpu, scripts)
    run.clockwork.run(200 * run.period)
    lines = [line for part in run.partitions for line in part.waits_for()]
    assert lines == ["slice 0: 2 requests of SMs wait for an MSHR", "slice 0: 1 MSHRs wait for DRAM"]


def test_preloaded_lines_stay_and_the_last_win(bench_class, packet_maker):
    gpu = one_set(2)
    lines = lines_of(gpu, 0, 3)
    run = bench_class(
        gpu, {0: in_turn([packet_maker(READ, 0, line) for line in (lines[1], lines[2], lines[0])])}
    )
    run.preload(lines, dirty=True)
    run.run()
    assert traffic(run, "l2_read_hits", "l2_read_misses", "l2_writeback_sectors") == [8, 4, 4]

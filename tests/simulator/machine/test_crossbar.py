"""The crossbar against closed forms: latencies, widths, credits, the bandwidth that blocking leaves."""

import random
from heapq import heappop
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from hwmodels.gpu import Gpu
from hwmodels.slice_hash import home_of
from simulator.machine.links import link_delays
from simulator.machine.messages import (
    ACK,
    ATOMIC,
    READ,
    REPLY,
    REPLY_CREDIT,
    REQUEST,
    SLICE_CREDIT,
    SM_CREDIT,
    WRITE,
    Packet,
)
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.reference.crossbar import Crossbar
from simulator.statistics.schema import INDEX

V100 = Gpu.from_card("v100-sxm2-16gb")
A100 = Gpu.from_card("a100-sxm-40gb")


class End(Component):
    """An end of the links that notes what arrives."""

    def __init__(self, clockwork, ident, period_fs):
        super().__init__(clockwork, ident, period_fs, f"end {ident}")
        self.got = []

    def tick(self, now_fs):
        while self.inbox and self.inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heappop(self.inbox)
            self.got.append((now_fs // self.period_fs, kind, payload))
        return NEVER


def crossbar_alone(gpu):
    clockwork = Clockwork(1)
    sms = [End(clockwork, 1 + index, gpu.l2_period_fs) for index in range(gpu.sm_count)]
    crossbar = Crossbar(clockwork, 500, gpu, 1)
    parts = [End(clockwork, 501 + index, gpu.l2_period_fs) for index in range(gpu.memory_partitions)]
    crossbar.connect(sms, parts)
    return clockwork, crossbar, sms, parts


def request(operation, sm, line, payload=0):
    return Packet(operation, sm, line, 15, 0, payload, 0, 0, 0, 0)


def send(gpu, crossbar, sm, packet, cycle=0):
    delay = cycle * gpu.l2_period_fs + crossbar.links.sm_to_crossbar_fs
    sm.send(crossbar, 0, delay, REQUEST, packet)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([V100, A100]), st.data())
def test_unloaded_latencies_of_a_pair(gpu, data):
    sm = data.draw(st.integers(0, gpu.sm_count - 1))
    line = data.draw(st.integers(0, 2**40))
    operation = data.draw(st.sampled_from([READ, WRITE, ATOMIC]))
    clockwork, crossbar, sms, parts = crossbar_alone(gpu)
    packet = request(operation, sm, line)
    send(gpu, crossbar, sms[sm], packet)
    clockwork.run(NEVER)
    home = home_of(line, gpu.l2.slices, gpu.l2.partitions)
    side = sm * gpu.l2.partitions // gpu.sm_count
    is_far = home // gpu.slices_per_partition != side
    near = side * gpu.slices_per_partition + home % gpu.slices_per_partition
    assert packet.slice == (near if operation == READ else home)
    [(arrival, kind, got)] = parts[packet.slice // gpu.slices_per_memory_partition].got
    assert kind == REQUEST
    assert got is packet
    spec = gpu.crossbar
    distance = crossbar.routing.distance(sm, packet.slice)
    crossing = spec.partition_link_latency_cycles if is_far and operation != READ else 0
    assert arrival == spec.request_latency_cycles - spec.spread_cycles // 2 + distance + crossing
    assert [(kind, count) for _, kind, count in sms[sm].got] == [(SM_CREDIT, 1)]

    start = clockwork.now_fs
    period = gpu.l2_period_fs
    for kind, payload in ((REPLY, 64), (ACK, 0)):
        answer = request(READ, sm, line, payload)
        answer.slice = near
        parts[0].send(crossbar, start, crossbar.links.slice_to_crossbar_fs, kind, answer)
    clockwork.run(NEVER)
    times = {kind: time - start // period for time, kind, _ in sms[sm].got}
    assert times[REPLY] == times[ACK] == spec.reply_latency_cycles


@pytest.mark.parametrize("gpu", [V100, A100], ids=["v100", "a100"])
def test_mean_latency_of_an_sm_is_that_of_the_card(gpu):
    _, crossbar, _, _ = crossbar_alone(gpu)
    spread = gpu.crossbar.spread_cycles
    for sm in range(gpu.sm_count):
        row = [crossbar.routing.distance(sm, one) for one in range(gpu.slices_per_partition)]
        assert abs(sum(row) / len(row) - spread / 2) <= 0.5
        assert 0 <= min(row) <= max(row) <= spread


def test_a_port_passes_one_packet_a_cycle_and_a_whole_line_in_two():
    gpu = V100.with_overrides({"crossbar.spread_cycles": 0})
    line = 77
    other = next(x for x in range(1000) if home_of(x, 32, 1) != home_of(line, 32, 1))
    for payloads, gaps in (
        ([0, 0, 0], [1, 1]),
        ([128, 128, 0], [2, 2]),
        ([64, 0, 32], [1, 1]),
        ([65, 0], [2]),
    ):
        clockwork, crossbar, sms, parts = crossbar_alone(gpu)
        for place, payload in enumerate(payloads):
            send(gpu, crossbar, sms[3], request(WRITE, 3, (line, other)[place % 2], payload))
        clockwork.run(NEVER)
        times = sorted(time for part in parts for time, _, _ in part.got)
        assert [b - a for a, b in pairwise(times)] == gaps


def test_a_slice_takes_one_packet_a_cycle_and_a_sector_of_stores():
    gpu = V100.with_overrides({"crossbar.spread_cycles": 0})
    for payload, gap in ((0, 1), (32, 1), (64, 2), (128, 4)):
        clockwork, crossbar, sms, parts = crossbar_alone(gpu)
        for sm in range(5):
            send(gpu, crossbar, sms[sm], request(WRITE, sm, 9, payload))
        clockwork.run(NEVER)
        got = parts[home_of(9, 32, 1)].got
        assert [packet.sm for _, _, packet in got] == [0, 1, 2, 3, 4]
        assert [time - got[0][0] for time, _, _ in got] == [gap * place for place in range(5)]


def test_no_request_leaves_without_a_place_in_the_slice():
    gpu = V100.with_overrides({"l2.queue_depth": 3})
    clockwork, crossbar, sms, parts = crossbar_alone(gpu)
    for sm in range(8):
        send(gpu, crossbar, sms[sm], request(READ, sm, 9))
    clockwork.run(NEVER)
    slice_id = home_of(9, 32, 1)
    assert len(parts[slice_id].got) == 3
    assert crossbar.waits_for() == [
        f"crossbar: 5 requests for slice {slice_id} wait for a place in its input queue"
    ]
    parts[slice_id].send(crossbar, clockwork.now_fs, gpu.l2_period_fs, SLICE_CREDIT, (slice_id, 4))
    clockwork.run(NEVER)
    assert len(parts[slice_id].got) == 7


def test_the_oldest_goes_first_where_distance_counts_as_delay():
    clockwork, crossbar, sms, parts = crossbar_alone(V100)
    slice_id = home_of(9, 32, 1)
    for sm in range(80):
        send(V100, crossbar, sms[sm], request(READ, sm, 9))
    clockwork.run(NEVER)
    parts[slice_id].send(crossbar, clockwork.now_fs, V100.l2_period_fs, SLICE_CREDIT, (slice_id, 80))
    clockwork.run(NEVER)
    order = [packet.sm for _, _, packet in parts[slice_id].got]
    assert order == sorted(range(80), key=lambda sm: (crossbar.routing.distance(sm, slice_id), sm))


def replies_of(gpu, packets):
    """Deliver (slice, sm) reply packets at once; (cycle after the first, slice, sm) of each."""
    clockwork, crossbar, sms, parts = crossbar_alone(gpu)
    for slice_id, sm in packets:
        answer = request(READ, sm, 0, 64)
        answer.slice = slice_id
        parts[slice_id].send(crossbar, 0, gpu.l2_period_fs, REPLY, answer)
    clockwork.run(NEVER)
    got = [(time, packet.slice, packet.sm) for end in sms for time, kind, packet in end.got if kind == REPLY]
    first = min(time for time, _, _ in got)
    returned = sum(kind == REPLY_CREDIT for part in parts for _, kind, _ in part.got)
    assert returned == len(packets)
    return sorted((time - first, slice_id, sm) for time, slice_id, sm in got)


def test_a_port_grants_slices_in_turn():
    got = replies_of(V100, [(slice_id, 7) for slice_id in (5, 2, 30) for _ in range(3)])
    assert got == [(turn * 3 + place, one, 7) for turn in range(3) for place, one in enumerate((2, 5, 30))]


def test_lookahead_lets_the_second_packet_pass_a_blocked_head():
    packets = [(0, 7), (1, 7), (1, 8), (1, 9)]
    assert (0, 1, 8) in replies_of(V100, packets)
    blocked = V100.with_overrides({"crossbar.reply_lookahead": 1})
    assert replies_of(blocked, packets) == [(0, 0, 7), (1, 1, 7), (2, 1, 8), (3, 1, 9)]


def test_a_slice_sends_one_packet_a_cycle():
    assert replies_of(V100, [(4, sm) for sm in range(6)]) == [(sm, 4, sm) for sm in range(6)]


def test_a_narrow_port_is_busy_longer():
    narrow = V100.with_overrides({"crossbar.reply_bytes_per_cycle": 16})
    assert [time for time, _, _ in replies_of(narrow, [(4, 1), (5, 1), (6, 1)])] == [0, 4, 8]


def test_the_partition_link_is_as_wide_as_the_card_says():
    gpu = A100.with_overrides(
        {"crossbar.spread_cycles": 0, "crossbar.partition_link_bytes_per_cycle": 64, "crossbar.sm_credits": 1}
    )
    clockwork, crossbar, sms, parts = crossbar_alone(gpu)
    lines = [x for x in range(400) if home_of(x, 80, 2) >= 40][:40]
    for sm, line in enumerate(lines):
        send(gpu, crossbar, sms[sm], request(WRITE, sm, line, 128))
    clockwork.run(NEVER)
    times = sorted(time for part in parts for time, _, _ in part.got)
    assert times[-1] - times[0] == 2 * 39
    assert crossbar.counts[0][INDEX["link_bytes"]] == 40 * 128


def test_a_link_without_time_is_refused():
    gpu = A100.with_overrides({"crossbar.partition_link_latency_cycles": 1})
    with pytest.raises(InputError, match="partition_link_latency_cycles"):
        link_delays(gpu)


class Loop(End):
    """An SM that keeps `window` random lines in flight and counts the bytes that return after the warm-up."""

    window = 64

    def start(self, gpu, crossbar, index, warm_cycles, stop_cycles):
        self.index = index
        self.crossbar = crossbar
        self.rng = random.Random(index)
        self.warm = warm_cycles
        self.stop = stop_cycles
        self.credits = gpu.crossbar.sm_credits
        self.waiting = 0
        self.bytes = 0
        self.book(0)

    def tick(self, now_fs):
        cycle = now_fs // self.period_fs
        while self.inbox and self.inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heappop(self.inbox)
            if kind == SM_CREDIT:
                self.credits += payload
            else:
                self.waiting -= 1
                self.bytes += payload.payload_bytes * (cycle >= self.warm)
        if cycle < self.stop and self.credits and self.waiting <= 2 * self.window - 2:
            self.credits -= 1
            self.waiting += 2
            packet = request(READ, self.index, self.rng.randrange(2**30))
            self.send(self.crossbar, now_fs, self.crossbar.links.sm_to_crossbar_fs, REQUEST, packet)
            return now_fs + self.period_fs
        return NEVER


class InstantSlice(End):
    """A slice that always hits, without latency: a request every other cycle, one half after the other."""

    def start(self, crossbar):
        self.crossbar = crossbar
        self.credits = crossbar.links.reply_credits
        self.queue = []

    def tick(self, now_fs):
        while self.inbox and self.inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heappop(self.inbox)
            if kind == REQUEST:
                self.queue += [payload, payload]
            else:
                self.credits += payload[2]
        if self.queue and self.credits:
            asked = self.queue.pop(0)
            self.credits -= 1
            answer = request(READ, asked.sm, asked.line, 64)
            answer.slice = asked.slice
            links = self.crossbar.links
            self.send(self.crossbar, now_fs, links.slice_to_crossbar_fs, REPLY, answer)
            if len(self.queue) % 2 == 0:
                credit = (asked.slice, 1)
                self.send(self.crossbar, now_fs, links.slice_to_crossbar_fs, SLICE_CREDIT, credit)
        return now_fs + self.period_fs if self.queue and self.credits else NEVER


@pytest.mark.parametrize(
    ("slices", "sms", "published", "error"),
    [(24, 80, 0.889, 0.05), (32, 80, 0.865, 0.04), (80, 108, 0.769, 0.04)],
    ids=["titan-v", "v100", "a100"],
)
def test_uniform_reads_reach_the_share_of_peak_that_blocking_leaves(slices, sms, published, error):
    gpu = V100.with_overrides(
        {
            "l2.slices": slices,
            "l2.size_kib": 128 * slices,
            "memory_partitions": slices,
            "dram.channels": slices,
        }
        | {"sm_count": sms, "crossbar.request_latency_cycles": 46, "crossbar.reply_latency_cycles": 46}
    )
    clockwork = Clockwork(1)
    period = gpu.l2_period_fs
    ends = [Loop(clockwork, 1 + index, period) for index in range(sms)]
    crossbar = Crossbar(clockwork, 500, gpu, 1)
    parts = [InstantSlice(clockwork, 501 + index, period) for index in range(slices)]
    crossbar.connect(ends, parts)
    for part in parts:
        part.start(crossbar)
    for index, end in enumerate(ends):
        end.start(gpu, crossbar, index, 400, 1100)
    clockwork.run(1100 * period)
    share = sum(end.bytes for end in ends) / (700 * 64 * slices)
    assert share == pytest.approx(published, rel=error)

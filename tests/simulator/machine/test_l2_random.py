"""Random traffic on small and starved cards: all is answered once, identities hold, order is its own."""

import random
from functools import cache

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hwmodels.gpu import Gpu
from simulator.machine.messages import ACK, ATOMIC, READ, REDUCE, REPLY, WRITE

TINY = {
    "l2.queue_depth": 1,
    "l2.mshr_entries": 1,
    "l2.mshr_merges": 1,
    "crossbar.reply_fifo_packets": 1,
    "crossbar.reply_lookahead": 1,
    "crossbar.sm_credits": 1,
    "dram.read_queue_depth": 1,
    "dram.write_queue_depth": 1,
    "dram.drain_high": 1,
    "dram.drain_low": 0,
}


@cache
def card(name, tiny, ways):
    """A slice of a card with so small an L2 that lines don't stay long."""
    volta = name.startswith("v100")
    size = {"l2.ways": ways, "l2.size_kib": 16 if volta else 20 * max(ways // 2, 1)}
    return Gpu.from_card(name).with_overrides(
        size | (TINY if tiny else {}) | {"scale": "1/16" if volta else "1/4"}
    )


def traffic(packet_maker, gpu, seed, count, lines, cycles, kernels):
    """Random scripts for all SMs, and how many packets there are."""
    rng = random.Random(seed)
    scripts = {}
    for token in range(count):
        sm = rng.randrange(gpu.sm_count)
        operation = rng.choice([READ, READ, READ, WRITE, WRITE, ATOMIC, REDUCE])
        sectors = rng.choice([15, 15, 1 << rng.randrange(4), rng.randrange(1, 16)])
        full = sectors & rng.choice([15, 15, rng.randrange(16)]) if operation == WRITE else 0
        made = packet_maker(
            operation, sm, rng.randrange(lines), sectors, token=token, kernel=rng.randrange(kernels), lanes=1
        )
        made.full = full
        scripts.setdefault(sm, []).append((rng.randrange(cycles), made))
    return {sm: sorted(script, key=lambda item: item[0]) for sm, script in scripts.items()}


def check_identities(run, asked):
    """What comes back answers what was asked, and what enters a level leaves it."""
    total = run.total
    came = {}
    for sm in run.sms:
        for _, kind, packet in sm.received:
            operation, sectors = asked[packet.token]
            assert kind == (REPLY if operation in {READ, ATOMIC} else ACK)
            if operation == READ:
                assert packet.payload_bytes == 32 * packet.sectors.bit_count()
                assert not came.get(packet.token, 0) & packet.sectors
                came[packet.token] = came.get(packet.token, 0) | packet.sectors
            else:
                assert packet.token not in came
                came[packet.token] = sectors
    assert came == {token: sectors for token, (_, sectors) in asked.items()}
    for family in ("l2_read", "link_read", "l2_atomic"):
        parts = [total(f"{family}_{part}") for part in ("hits", "misses", "merges")]
        assert total(f"{family}_sectors") == sum(parts)
    reads = sum(sectors.bit_count() for operation, sectors in asked.values() if operation == READ)
    writes = sum(sectors.bit_count() for operation, sectors in asked.values() if operation == WRITE)
    atomics = sum(
        sectors.bit_count() for operation, sectors in asked.values() if operation in {ATOMIC, REDUCE}
    )
    assert total("l2_read_sectors") == reads
    assert total("l2_write_sectors") == writes
    assert total("l2_atomic_sectors") == atomics
    fetched = total("l2_read_misses") + total("link_read_misses") + total("l2_atomic_misses")
    assert total("l2_fill_sectors") == fetched == total("dram_read_sectors") + total("link_read_sectors")
    assert total("dram_write_sectors") == total("l2_writeback_sectors")
    assert total("l2_writeback_sectors") + total("l2_dirty_left") <= writes + atomics
    channels = [channel for part in run.partitions for channel in part.memory.channels]
    counters = [lane.counters for channel in channels for lane in channel.state.pseudo_channels]
    assert sum(one.reads + one.forwarded for one in counters) == total("dram_read_sectors")
    assert sum(one.writes for one in counters) == total("dram_write_sectors")


@pytest.mark.parametrize("name", ["v100-sxm2-16gb", "a100-sxm-40gb"])
@pytest.mark.parametrize("tiny", [False, True], ids=["roomy", "tiny"])
@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 10**9),
    lines=st.sampled_from([1, 8, 200, 5000]),
    cycles=st.sampled_from([1, 300, 3000]),
    ways=st.sampled_from([1, 2, 4]),
)
def test_random_traffic(bench_class, packet_maker, name, tiny, seed, lines, cycles, ways):
    gpu = card(name, tiny, ways)
    scripts = traffic(packet_maker, gpu, seed, 150, lines, cycles, 2)
    asked = {packet.token: (packet.operation, packet.sectors) for s in scripts.values() for _, packet in s}
    run = bench_class(gpu, scripts, kernels=2).run()
    check_identities(run, asked)
    for sm in run.sms:
        sent = {}
        for cycle, packet in scripts.get(sm.ident - 1, ()):
            sent[packet.token] = cycle * run.period
        for time, _, packet in sm.received:
            assert all(part >= 0 for part in packet.phases)
            assert sum(packet.phases) <= time - sent[packet.token]


@pytest.mark.parametrize("name", ["v100-sxm2-16gb", "a100-sxm-40gb"])
@pytest.mark.parametrize("tiny", [False, True], ids=["roomy", "tiny"])
def test_neither_building_order_nor_simultaneous_events_matter(bench_class, packet_maker, name, tiny):
    gpu = card(name, tiny, 2)
    prints = []
    for turn in range(4):
        rng = random.Random(turn)
        run = bench_class(
            gpu,
            traffic(packet_maker, gpu, 7, 200, 300, 500, 2),
            kernels=2,
            reverse=turn % 2 == 1,
            priority=(lambda rng=rng: rng.randrange(100)) if turn > 1 else None,
            interval_fs=10**8 if turn == 3 else 0,
            window=1 if turn == 2 else None,
        ).run()
        prints.append(run.fingerprint())
    assert prints[1:] == prints[:1] * 3


@pytest.mark.parametrize(("name", "least"), [("v100-sxm2-16gb", 0.93), ("a100-sxm-40gb", 0.93)])
def test_a_stream_of_reads_is_bound_by_dram(bench_class, packet_maker, name, least):
    scale = "1/16" if name.startswith("v100") else "1/4"
    gpu = Gpu.from_card(name).scaled(scale)
    count = 600 if name.startswith("v100") else 200
    scripts = {
        sm: [(0, packet_maker(READ, sm, (turn * gpu.sm_count + sm), token=turn)) for turn in range(count)]
        for sm in range(gpu.sm_count)
    }
    run = bench_class(gpu, scripts).run()
    times = sorted((time, packet.payload_bytes) for sm in run.sms for time, _, packet in sm.received)
    middle = times[len(times) // 5 : -len(times) // 5]
    moved = sum(size for _, size in middle)
    achieved = moved * 10**6 / (middle[-1][0] - middle[0][0])
    assert achieved >= least * gpu.dram.bandwidth_gb_s

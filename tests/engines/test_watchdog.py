"""Runs that can't end say who waits for whom, and the tightest machines there are end all the same."""

from dataclasses import replace

import pytest

from hwmodels.errors import ResultError
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import block, warp
from tests.engines.readings import tiny_card
from tests.machines.dice import SeededDice
from tests.machines.random_card import BASES, base_card
from tests.machines.random_trace import random_traces

TIGHT = {
    "sm.mio_queue_depth": 1,
    "sm.lg_queue_depth": 1,
    "l1.mshr_entries": 1,
    "l1.mshr_merges": 1,
    "l1.ways": 1,
    "l2.ways": 1,
    "l2.queue_depth": 1,
    "l2.mshr_entries": 1,
    "l2.mshr_merges": 1,
    "crossbar.sm_credits": 1,
    "crossbar.reply_fifo_packets": 1,
    "crossbar.reply_lookahead": 1,
    "dram.read_queue_depth": 1,
    "dram.write_queue_depth": 1,
    "dram.drain_high": 1,
    "dram.drain_low": 0,
}
SMALL = {
    "sm_count": 4,
    "memory_partitions": 2,
    "l2.slices": 2,
    "l2.size_kib": 4,
    "dram.channels": 2,
    "shared_memory.size_kib": 8,
    "l1.size_kib": 10,
    "l1.unusable_kib": 0,
}


def disagreeing(blocks=1):
    """Two warps that wait at two barriers for each other, in the last block only."""
    k = KernelBuilder("disagree", blocks, 64, registers_per_thread=16)
    last = block // (blocks - 1) if blocks > 1 else 1
    for barrier, number in ((0, 1 - warp), (1, warp)):
        with k.when(number), k.when(last if blocks > 1 else 1 + 0 * warp):
            k.barrier(barrier)
    return k.build()


def test_a_barrier_that_one_warp_never_reaches(run):
    with pytest.raises(ResultError) as caught:
        run(disagreeing(), tiny_card())
    message = str(caught.value)
    assert "block 0 of kernel 0 warp 0 is in barrier at barrier 0, held by warps [1]" in message
    assert "block 0 of kernel 0 warp 1 is in barrier at barrier 1, held by warps [0]" in message
    assert "1 of 1 blocks unfinished" in message
    assert "\n" not in message


def test_the_watchdog_names_the_block_that_hangs(run):
    with pytest.raises(ResultError, match=r"SM 0: block 4 of kernel 0 warp 0 .* held by warps \[1\]"):
        run(disagreeing(5), tiny_card())


def test_blocks_behind_a_hanging_one_are_named_too(run):
    trace = replace(disagreeing(), grid=(2, 1, 1))
    with pytest.raises(ResultError, match="2 of 2 blocks unfinished, 1 not placed"):
        run(trace, tiny_card(sm__block_slots=1))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("sides", [1, 2])
def test_everything_of_depth_one(run, base, sides):
    """Identities hold and nothing hangs where each queue holds one and each cache is direct-mapped."""
    link = {"crossbar.partition_link_bytes_per_cycle": 8, "crossbar.partition_link_latency_cycles": 2}
    gpu = base_card(base).with_overrides(
        TIGHT | SMALL | {"l2.partitions": sides} | (link if sides == 2 else {})
    )
    for seed in range(6):
        run(random_traces(SeededDice(seed), gpu), gpu)


@pytest.mark.parametrize("key", sorted(key for key, value in TIGHT.items() if value == 1))
def test_each_depth_of_one_by_itself(run, key):
    extra = {"dram.drain_high": 1, "dram.drain_low": 0} if key.startswith("dram") else {}
    extra |= {"crossbar.reply_lookahead": 1} if "fifo" in key else {}
    gpu = base_card("a100-sxm-40gb").with_overrides(SMALL | {key: 1} | extra)
    for seed in (20, 21):
        run(random_traces(SeededDice(seed), gpu), gpu)

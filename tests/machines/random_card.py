"""Random small cards: valid in every relation between their numbers, unlike any that was ever built.

One to eight SMs, one to eight memory partitions, queues from depth 1, slice counts that are no power of two,
one or two L2 partitions, unrelated clocks, every scheduler, refresh and page policy. Caches are so small that
a few hundred accesses evict. What a test wants to hold fixed it overrides afterwards.
"""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from hwmodels import Gpu
from tests.machines.dice import Dice, DrawnDice, SeededDice

BASES = ("v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm")
MAPS = {
    row_bytes: (
        "row:bank:column:bankgroup",
        f"row:bank:column[{top}:1]:bankgroup:column[0]",
        "row:column:bank:bankgroup plain",
    )
    for row_bytes, top in ((1024, 4), (128, 1))
}
DEPTHS = (1, 1, 2, 3, 4, 8, 64)
CLOCKS_MHZ = (250, 700, 1000, 1053, 1410, 1530, 1755, 2500)


@cache
def base_card(name: str) -> Gpu:
    """A card from its file, read once."""
    return Gpu.from_card(name)


def random_card(dice: Dice) -> Gpu:
    """A card by the dice."""
    base = base_card(dice.choice(BASES))
    keys = {
        "clock_mhz": dice.choice(CLOCKS_MHZ),
        "l2.clock_mhz": dice.choice(CLOCKS_MHZ),
        "sm_count": dice.number(1, 8),
        **_sm(dice),
        **_memories(dice),
        **_level_two(dice),
        **_crossbar(dice),
        **_dram(dice, base),
        **_launch(dice),
    }
    return base.with_overrides(keys)


def _sm(dice: Dice) -> dict[str, Any]:
    sub_cores = dice.choice((4, 1, 2))
    warps = sub_cores * dice.choice((4, 8, 16, 24))
    return {
        "sm.sub_cores": sub_cores,
        "sm.warp_slots": warps,
        "sm.block_slots": dice.number(1, 8),
        "sm.barrier_slots": dice.choice((0, 2, 16)),
        "sm.max_threads_per_block": 32 * min(warps, 32),
        "sm.scheduler": dice.choice(("gto", "lrr", "oldest")),
        "sm.mio_queue_depth": dice.choice(DEPTHS),
        "sm.lg_queue_depth": dice.choice(DEPTHS),
        "sm.operand_latency_cycles": dice.number(1, 9),
        "sm.mio_latency_cycles": dice.number(1, 9),
        "sm.writeback_latency_cycles": dice.number(1, 9),
        "sm.barrier_arrival_cycles": dice.number(1, 4),
        "sm.barrier_release_cycles": dice.number(1, 30),
        "sm.warp_setup_tenths": dice.choice((0, 45, 100)),
        "sm.exit_latency_cycles": dice.number(1, 40),
        "sm.branch_latency_cycles": dice.number(1, 12),
        "sm.fetch_line_bytes": dice.choice((128, 64, 32)),
        "sm.l0_instruction_kib": 1,
        "sm.l0_miss_latency_cycles": dice.number(1, 40),
        "sm.l1_instruction_kib": dice.choice((1, 128)),
        "sm.membar_latency_cycles": dice.number(1, 50),
        "register_file.size_kib": dice.choice((64, 16, 256)),
        "register_file.banks": dice.choice((2, 4)),
        "register_file.bank_ports": dice.choice((1, 2)),
    }


def _memories(dice: Dice) -> dict[str, Any]:
    shared_kib = dice.choice((32, 16, 8))
    return {
        "shared_memory.size_kib": shared_kib,
        "shared_memory.reserved_per_block_bytes": dice.choice((0, 1024)),
        "shared_memory.access_latency_cycles": dice.number(1, 9),
        "shared_memory.pass_interval_cycles": dice.choice((2, 1, 3)),
        "l1.size_kib": shared_kib + dice.choice((16, 2)),
        "l1.unusable_kib": dice.choice((0, 7)),
        "l1.ways": dice.choice((1, 2, 4, 8)),
        "l1.tag_banks": dice.choice((1, 2, 4)),
        "l1.bytes_per_cycle": dice.choice((128, 64)),
        "l1.tag_latency_cycles": dice.number(1, 12),
        "l1.miss_latency_cycles": dice.number(1, 12),
        "l1.fill_latency_cycles": dice.number(1, 18),
        "l1.mshr_entries": dice.choice(DEPTHS),
        "l1.mshr_merges": dice.choice(DEPTHS),
        "tlb.reach_mib": dice.choice((0, 1, 2)),
        "tlb.page_mib": 1,
        "tlb.miss_latency_cycles": dice.number(0, 30),
    }


def _level_two(dice: Dice) -> dict[str, Any]:
    """Slices, memory partitions and channels that divide as they must, the slices often an odd count."""
    sides = dice.choice((1, 2))
    memory_partitions = sides * dice.number(1, 8 // sides)
    slices = memory_partitions * dice.choice((1, 2, 3) if memory_partitions < 4 else (1,))
    ways = dice.choice((1, 2, 8))
    sets = next(sets for sets in range(dice.number(1, 8), 99) if slices * ways * sets % 8 == 0)
    return {
        "memory_partitions": memory_partitions,
        "l2.partitions": sides,
        "l2.slices": slices,
        "l2.ways": ways,
        "l2.size_kib": slices * ways * sets // 8,
        "l2.slice_bytes_per_cycle": dice.choice((64, 32)),
        "l2.slice_request_bytes_per_cycle": dice.choice((64, 32, 32, 16)),
        "l2.access_latency_cycles": dice.number(1, 60),
        "l2.miss_latency_cycles": dice.number(2, 90),
        "l2.queue_depth": dice.choice(DEPTHS),
        "l2.mshr_entries": dice.choice(DEPTHS),
        "l2.mshr_merges": dice.choice(DEPTHS),
        "l2.atomic_interval_tenths": dice.choice((13, 1, 40)),
        "l2.write_back_lines": dice.choice((32, 1, 5)),
        "dram.channels": memory_partitions * dice.choice((1, 2)),
        "crossbar.partition_link_bytes_per_cycle": dice.choice((1000, 40)) if sides == 2 else 0,
        "crossbar.partition_link_latency_cycles": dice.number(2, 80) if sides == 2 else 0,
    }


def _crossbar(dice: Dice) -> dict[str, Any]:
    request, reply = dice.number(8, 60), dice.number(8, 60)
    fifo = dice.choice((1, 2, 16))
    return {
        "crossbar.request_latency_cycles": request,
        "crossbar.reply_latency_cycles": reply,
        "crossbar.spread_cycles": dice.number(0, 2 * (min(request, reply) - 2)),
        "crossbar.request_bytes_per_cycle": dice.choice((64, 16)),
        "crossbar.reply_bytes_per_cycle": dice.choice((64, 16)),
        "crossbar.packet_bytes": dice.choice((64, 32, 96, 128)),
        "crossbar.reply_fifo_packets": fifo,
        "crossbar.reply_lookahead": min(fifo, dice.choice((1, 2))),
        "crossbar.sm_credits": dice.choice(DEPTHS),
    }


def _dram(dice: Dice, base: Gpu) -> dict[str, Any]:
    depth = dice.choice(DEPTHS)
    high = dice.number(1, depth)
    row_bytes = dice.choice((1024, 128))
    return {
        "dram.data_rate_mbps": base.dram.data_rate_mbps * dice.choice((4, 3, 5)) // 4,
        "dram.pseudo_channels_per_channel": dice.choice((2, 1)),
        "dram.controller_latency_ns": dice.number(0, 100),
        "dram.bank_groups": dice.choice((4, 1, 2)),
        "dram.banks_per_group": dice.choice((4, 1, 2)),
        "dram.rows": dice.choice((16384, 64)),
        "dram.row_bytes": row_bytes,
        "dram.read_queue_depth": dice.choice(DEPTHS),
        "dram.write_queue_depth": depth,
        "dram.drain_high": high,
        "dram.drain_low": dice.number(0, high - 1),
        "dram.age_limit_cycles": dice.choice((4000, 50)),
        "dram.page_policy": dice.choice(("open", "closed")),
        "dram.refresh": dice.choice(("per_bank", "all_bank", "none")),
        "dram.refresh_postpone": dice.number(0, 8),
        "dram.address_map": dice.choice(MAPS[row_bytes]),
    }


def _launch(dice: Dice) -> dict[str, Any]:
    return {
        "launch.stream_gap_ns": dice.number(0, 300),
        "launch.graph_gap_ns": dice.number(0, 100),
        "launch.host_period_ns": dice.number(0, 500),
        "launch.dispatch_blocks_per_kilocycle": dice.choice((1000, 130, 3000)),
        "launch.block_launch_ns": dice.number(1, 60),
        "launch.block_done_ns": dice.number(1, 60),
    }


def seeded_card(seed: int) -> Gpu:
    """The random card of a seed."""
    return random_card(SeededDice(seed))


@st.composite
def cards(draw: st.DrawFn) -> Gpu:
    """Random cards for hypothesis."""
    return random_card(DrawnDice(draw))

"""The machine's record and tables for a card, before any kernel is known: numbers, sizes, and idle state.

Sizes come from the card's own bounds; the pools begin at what a turn can take and grow.
"""

from __future__ import annotations

import numpy as np

from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES
from hwmodels.dram.spec import SECTOR_BYTES
from hwmodels.errors import InputError
from simulator.machine.compiled import layout, layout_memory, layout_sm
from simulator.machine.compiled.build_dram import build_dram
from simulator.machine.compiled.build_warps import slot_words, warp_bits
from simulator.machine.compiled.expression import KEPT_PATTERNS
from simulator.machine.compiled.footprint import KEPT
from simulator.machine.compiled.inbox import WAYS, WAYS_TO_CROSSBAR
from simulator.machine.compiled.l1_tags import EMPTY, UNUSED
from simulator.machine.compiled.l2_tags import MOST_ENTRIES
from simulator.machine.compiled.layout_memory import MOST_BANKS
from simulator.machine.compiled.layout_sm import MOST_BLOCK_WARPS, MOST_PHASES, MOST_SUB_CORES
from simulator.machine.compiled.lsu import QUEUES
from simulator.machine.compiled.machine import FLAG_INTEGERS
from simulator.machine.compiled.sm_events import EVENT_CYCLES, EVENT_WORDS
from simulator.machine.compiled.store import Store
from simulator.machine.compiled.sub_core import SCHEDULERS
from simulator.machine.launchable import LANES
from simulator.machine.links import lead, link_delays
from simulator.machine.order import NEVER
from simulator.machine.reference.launcher import FS_PER_NS, REGISTERS_PER_KIB, UNLIMITED
from simulator.machine.reference.routing import Routing
from simulator.machine.reference.tlb import MIB

MASK_BITS = 62


def refuse_unknown(gpu: Gpu) -> None:
    """An InputError for a size that this engine has no room for."""
    mshrs = 2 * gpu.l2.slices * gpu.l2.mshr_entries
    limits = (
        ("dram.banks_per_group", gpu.dram.bank_groups * gpu.dram.banks_per_group, MOST_BANKS, "banks"),
        ("l2.ways", gpu.l2.ways, MASK_BITS, "ways"),
        ("l2.mshr_entries", mshrs, MOST_ENTRIES // 4, "MSHRs of all slices"),
        ("shared_memory.pass_interval_cycles", gpu.shared_memory.pass_interval_cycles, MOST_PHASES, "cycles"),
        ("sm.sub_cores", gpu.sm.sub_cores, MOST_SUB_CORES, "sub-cores"),
        ("sm.max_threads_per_block", gpu.sm.max_threads_per_block, MOST_BLOCK_WARPS * LANES, "threads"),
    )
    for key, value, most, what in limits:
        if value > most and key != "sm.max_threads_per_block":
            raise InputError(
                f"gpu.{key}",
                f"the compiled engine has room for {most} {what}, not {value}",
                "use the reference engine",
            )


def build_card(store: Store, gpu: Gpu) -> None:
    """All that depends on the card alone."""
    refuse_unknown(gpu)
    _clocks(store, gpu)
    _sm(store, gpu)
    _l1(store, gpu)
    _crossbar(store, gpu)
    _l2(store, gpu)
    build_dram(store, gpu)
    _launcher(store, gpu)
    _shared_tables(store, gpu)


def _clocks(store: Store, gpu: Gpu) -> None:
    links, ahead = link_delays(gpu), lead(gpu)
    store.set(
        sms=gpu.sm_count,
        slices=gpu.l2.slices,
        crossbar=gpu.sm_count + 1,
        first_partition=gpu.sm_count + 2,
        component_count=gpu.sm_count + 2 + gpu.memory_partitions,
        channel_count=gpu.dram.channels,
        sm_period_fs=gpu.sm_period_fs,
        l2_period_fs=gpu.l2_period_fs,
        clock_fs=gpu.dram_period_fs,
        to_sms_fs=ahead.to_sms_fs,
        to_partitions_fs=ahead.to_partitions_fs,
        from_sms_fs=ahead.from_sms_fs,
        from_partitions_fs=ahead.from_partitions_fs,
        window_fs=ahead.window_fs,
        sm_to_crossbar_fs=links.sm_to_crossbar_fs,
        crossbar_to_slice_fs=links.crossbar_to_slice_fs,
        slice_to_crossbar_fs=links.slice_to_crossbar_fs,
        crossbar_to_sm_fs=links.crossbar_to_sm_fs,
        slice_to_crossbar=links.slice_to_crossbar_fs // gpu.l2_period_fs,
        crossing_in=links.crossing_in_fs // gpu.l2_period_fs,
        crossing_out_fs=links.crossing_out_fs,
        crossing_cycles=links.crossing_cycles,
        reply_capacity=links.reply_credits + links.crossed_credits,
    )


def _sm(store: Store, gpu: Gpu) -> None:
    sm, shared = gpu.sm, gpu.shared_memory
    store.set(
        sub_cores=sm.sub_cores,
        slot_words=slot_words(gpu),
        warp_slots=sm.warp_slots,
        scheduler=SCHEDULERS.index(sm.scheduler),
        lg_depth=sm.lg_queue_depth,
        mio_depth=sm.mio_queue_depth,
        hand_over=sm.operand_latency_cycles + sm.mio_latency_cycles,
        writeback_latency=sm.writeback_latency_cycles,
        branch_latency=sm.branch_latency_cycles,
        fence_latency=sm.membar_latency_cycles,
        exit_latency=sm.exit_latency_cycles,
        warp_setup_tenths=sm.warp_setup_tenths,
        barrier_arrival=sm.barrier_arrival_cycles,
        barrier_release=sm.barrier_release_cycles,
        l0_latency=sm.l0_miss_latency_cycles,
        l1_instruction_latency=sm.l1_instruction_miss_latency_cycles,
        smem_banks=shared.banks,
        smem_bank_bytes=shared.bank_bytes,
        smem_access=shared.access_latency_cycles,
        pass_interval=shared.pass_interval_cycles,
        atomic_base=shared.atomic_base_latency_cycles,
        atomic_contention=shared.atomic_contention_tenths,
    )
    sms = gpu.sm_count
    states = store.records("sm_states", layout_sm.SM, sms, events=-1, stalled=-1, carveout=-1)
    states["credits"] = gpu.crossbar.sm_credits
    entries = gpu.l1.mshr_entries
    states["mshr_free"] = np.arange(sms) * entries
    table = store.records("mshrs", layout_sm.MSHR, sms * entries)
    table["next"] = np.arange(1, sms * entries + 1)
    subs = store.records("sub_core_states", layout_sm.SUB_CORE, sms * sm.sub_cores, last_age=-1, last_bit=-1)
    subs["sm"] = np.arange(len(subs)) // sm.sub_cores
    warps = store.records("warps", layout_sm.WARP, sms * sm.warp_slots)
    warp_bits(store, gpu, subs, warps.reshape(sms, sm.warp_slots))


def _l1(store: Store, gpu: Gpu) -> None:
    l1, shared = gpu.l1, gpu.shared_memory
    slots = max(1, l1.usable_kib(0) * 1024 // (LINE_BYTES * l1.ways)) * l1.ways
    entries = gpu.tlb.reach_mib // gpu.tlb.page_mib
    store.set(
        port_factor=max(1, shared.banks * shared.bank_bytes // l1.bytes_per_cycle),
        l1_kib=l1.size_kib,
        l1_unusable_kib=l1.unusable_kib,
        l1_ways=l1.ways,
        l1_slots=slots,
        l1_mshrs=l1.mshr_entries,
        l1_merges=l1.mshr_merges,
        tag_banks=l1.tag_banks,
        tag_latency=l1.tag_latency_cycles,
        out_cycles=l1.tag_latency_cycles + l1.miss_latency_cycles,
        hit_cycles=l1.tag_latency_cycles + shared.access_latency_cycles,
        refill_cycles=l1.fill_latency_cycles + shared.access_latency_cycles,
        page_entries=entries,
        lines_per_page=gpu.tlb.page_mib * MIB // LINE_BYTES,
        page_miss_cycles=gpu.tlb.miss_latency_cycles,
    )
    store.records("l1_lines", layout_sm.L1_LINE, gpu.sm_count * slots, bringing=-1)
    store.integers("l1_tags", gpu.sm_count * slots, EMPTY)
    store.integers("l1_stamps", gpu.sm_count * slots, UNUSED)
    store.integers("pages", 2 * gpu.sm_count * entries)
    for worker in range(store.workers):
        store.records("kept_offsets", layout_sm.KEPT_OFFSETS, KEPT_PATTERNS, worker, expression=-1)
        store.records("footprints", layout_sm.FOOTPRINT, KEPT, worker, pattern=-2)
        store.records("shared_footprints", layout_sm.SHARED_FOOTPRINT, KEPT, worker, pattern=-2)


def _crossbar(store: Store, gpu: Gpu) -> None:
    crossbar, routing = gpu.crossbar, Routing(gpu)
    sms, slices = gpu.sm_count, gpu.l2.slices
    store.set(
        request_bytes=crossbar.request_bytes_per_cycle,
        reply_bytes=crossbar.reply_bytes_per_cycle,
        reply_fifo=crossbar.reply_fifo_packets,
        lookahead=crossbar.reply_lookahead,
        link_bytes=crossbar.partition_link_bytes_per_cycle,
        side_slices=gpu.slices_per_partition,
        l2_partitions=gpu.l2.partitions,
        requests_due=NEVER,
        late=-1,
    )
    store.record["link_heaps"][:] = -1
    store.put("partition_of_sm", np.array(routing.partition_of_sm, np.int64))
    side = range(gpu.slices_per_partition)
    distances = [[routing.distance(sm, slice_id) for slice_id in side] for sm in range(sms)]
    store.put("distances", np.array(distances, np.int64))
    for name in ("port_free", "returned", "reply_free", "turn", "proposal_place", "proposed"):
        store.integers(name, sms)
    store.integers("proposal", sms, -1)
    store.integers("slice_credits", slices, gpu.l2.queue_depth)
    store.integers("slice_free", slices)
    store.integers("armed", slices, NEVER)
    store.integers("contenders", 2 * slices)
    store.integers("losers", 2 * slices)


def _l2(store: Store, gpu: Gpu) -> None:
    l2 = gpu.l2
    sets = l2.size_kib * 1024 // (l2.slices * gpu.line_bytes * l2.ways)
    width = gpu.crossbar.packet_bytes // SECTOR_BYTES
    groups = [((1 << width) - 1) << first & 15 for first in range(0, 4, width)]
    store.set(
        l2_sets=sets,
        l2_ways=l2.ways,
        l2_mshrs=l2.mshr_entries,
        l2_merges=l2.mshr_merges,
        l2_queue_depth=l2.queue_depth,
        slice_bytes=l2.slice_bytes_per_cycle,
        slice_request_bytes=l2.slice_request_bytes_per_cycle,
        access_cycles=l2.access_latency_cycles,
        before_cycles=l2.access_latency_cycles // 2,
        after_cycles=l2.access_latency_cycles - l2.access_latency_cycles // 2,
        atomic_tenths=l2.atomic_interval_tenths,
        write_back_lines=l2.write_back_lines,
        groups=len(groups),
        part_slices=gpu.slices_per_memory_partition,
        there_fs=l2.miss_latency_cycles // 2 * gpu.l2_period_fs,
        back_cycles=l2.miss_latency_cycles - l2.miss_latency_cycles // 2,
    )
    store.record["group_masks"][0, : len(groups)] = groups
    links = link_delays(gpu)
    states = store.records("slice_states", layout_memory.SLICE, l2.slices, due=NEVER, unkept=-1)
    states["credits"] = (links.reply_credits, links.crossed_credits)
    states["owner"] = gpu.sm_count + 2 + np.arange(l2.slices) // gpu.slices_per_memory_partition
    slots = l2.slices * sets * l2.ways
    store.integers("l2_tags", slots, -1)
    store.integers("l2_stamps", slots)
    store.records("l2_lines", layout_memory.L2_LINE, slots)
    for worker in range(store.workers):
        store.integers("near", 2 * l2.write_back_lines, worker=worker)
    parts = gpu.memory_partitions
    store.records("partitions", layout_memory.PARTITION, parts, due_fs=NEVER, way_fs=NEVER, returned=NEVER)


def _launcher(store: Store, gpu: Gpu) -> None:
    sm, launch = gpu.sm, gpu.launch
    books = store.records("books", layout_sm.BOOK, gpu.sm_count, carveout=-1)
    books["warps"][:, : sm.sub_cores] = sm.warp_slots // sm.sub_cores
    books["registers"][:, : sm.sub_cores] = gpu.register_file.size_kib * REGISTERS_PER_KIB // sm.sub_cores
    books["blocks"] = sm.block_slots
    books["barriers"] = sm.barrier_slots or UNLIMITED
    blocks = store.records("blocks", layout_sm.BLOCK, gpu.sm_count * sm.block_slots)
    blocks["next"] = np.arange(1, len(blocks) + 1)
    store.set(
        block_launch_fs=launch.block_launch_ns * FS_PER_NS,
        block_done_fs=launch.block_done_ns * FS_PER_NS,
        largest_carveout=gpu.shared_memory.size_kib * 1024,
        step_millicycles=1_000_000 // launch.dispatch_blocks_per_kilocycle,
    )


def _wheel_cycles(gpu: Gpu) -> int:
    """Cycles that the crossbar's inbox must reach ahead: the longest way to it, and a turn; a power of
    two.
    """
    links, l1, period = link_delays(gpu), gpu.l1, gpu.l2_period_fs
    out_cycles = l1.tag_latency_cycles + l1.miss_latency_cycles + gpu.tlb.miss_latency_cycles
    of_sm = -(-out_cycles * gpu.sm_period_fs // period) + links.sm_to_crossbar_fs // period
    of_slice = gpu.l2.access_latency_cycles + 2 * links.crossing_cycles + links.slice_to_crossbar_fs // period
    turn = -(-lead(gpu).round_fs // period)
    return 1 << (max(of_sm, of_slice) + turn + 4).bit_length()


def _shared_tables(store: Store, gpu: Gpu) -> None:
    """Components, queues, meters and pools."""
    sms, slices, parts = gpu.sm_count, gpu.l2.slices, gpu.memory_partitions
    pseudos = gpu.dram.channels * gpu.dram.pseudo_channels_per_channel
    never = dict.fromkeys(("next_fs", "arrival_fs", "notice_fs"), NEVER)
    store.records("components", layout.COMPONENT, sms + 2 + parts, **never)
    q_lsu = 0
    q_slice = q_lsu + QUEUES * sms
    q_reply = q_slice + 4 * slices
    q_front = q_reply + slices
    q_on_way = q_front + 2 * pseudos
    q_returned = q_on_way + parts
    q_inbox = 0
    q_wheel = WAYS * (sms + 2 + parts)
    wheel = _wheel_cycles(gpu)
    q_request = 0
    q_leaving = q_request + slices
    q_launcher = q_leaving + slices
    store.set(
        q_inbox=q_inbox,
        q_request=q_request,
        q_leaving=q_leaving,
        q_on_way=q_on_way,
        q_returned=q_returned,
        q_wheel=q_wheel,
        q_launcher=q_launcher,
        wheel_size=wheel,
        wheel_fs=(wheel - 1) * gpu.l2_period_fs,
        q_lsu=q_lsu,
        q_slice=q_slice,
        q_reply=q_reply,
        q_front=q_front,
        meter_crossbar=2 * sms,
        meter_slice=2 * sms + 2,
    )
    store.records("queues", layout.QUEUE, q_returned + parts, head=-1, tail=-1)
    store.records("events", layout_sm.EVENTS, EVENT_CYCLES * sms, head=-1)
    store.records("ordered", layout.ORDERED, q_launcher + store.workers, head=-1, tail=-1, first=NEVER)
    store.integers("event_bits", EVENT_WORDS * sms)
    store.records("meters", layout.METER, 2 * sms + 2 + 3 * slices)
    fastest = min(gpu.sm_period_fs, gpu.l2_period_fs, gpu.dram_period_fs)
    cycles = lead(gpu).round_fs // fastest + 2
    for number, amount in (
        (layout.P_NODES, 24 * (sms + slices) + 8 * pseudos),
        (layout.P_PACKETS, 8 * slices + 4 * sms),
        (layout.P_REQUESTS, gpu.sm.sub_cores * sms),
        (layout.P_WAITERS, 8 * sms),
        (layout.P_L2_WAITERS, 8 * slices),
        (layout.P_MISSES, 4 * slices),
        (layout.P_TRANSFERS, 16 * slices),
        (layout.P_ARRIVALS, 16 * slices),
        (layout.P_MESSAGES, sms + slices),
    ):
        low = amount * cycles + 128 * sms
        store.pool(number, 2 * low, low)
    store.records("tapes", layout.TAPE, q_wheel + WAYS_TO_CROSSBAR * wheel * store.workers, first=NEVER)
    _shares(store, sms, parts, q_wheel, wheel, q_launcher)


def _shares(store: Store, sms: int, parts: int, q_wheel: int, wheel: int, q_launcher: int) -> None:
    """What each worker has of its own: contiguous SMs and partitions, and a part of the common inboxes."""
    for worker in range(store.workers):
        store.set_of(
            worker,
            worker=worker,
            first_sm=sms * worker // store.workers,
            last_sm=sms * (worker + 1) // store.workers,
            first_part=parts * worker // store.workers,
            last_part=parts * (worker + 1) // store.workers,
            q_wheel=q_wheel + WAYS_TO_CROSSBAR * wheel * worker,
            q_launcher=q_launcher + worker,
            crossbar_next=NEVER,
            launcher_next=NEVER,
        )
    store.set(workers=store.workers)
    store.integers("rounds", FLAG_INTEGERS * store.workers)

"""The tables of DRAM for a card: timings as memory clocks, its address map, and idle channels and banks."""

from __future__ import annotations

import numpy as np

from hwmodels import Gpu
from hwmodels.coalescing import SECTORS_PER_LINE
from hwmodels.dram.address_map import parse_map
from hwmodels.dram.clocks import table_of, timing_clocks
from hwmodels.dram.spec import SECTOR_BYTES
from hwmodels.units import FEMTOSECONDS_PER_NANOSECOND
from simulator.machine.compiled import layout_memory
from simulator.machine.compiled.dram_refresh import ALL_BANK, NO_REFRESH, PER_BANK
from simulator.machine.compiled.memory_front import CHAINS
from simulator.machine.compiled.store import Store
from simulator.machine.reference.dram_distances import distances_of
from simulator.machine.state_dram import FAR

LINE_MASK = SECTORS_PER_LINE - 1
"""Bits of a sector's number that tell apart the sectors of a line."""
SEGMENT_FIELDS = ("row", "bank", "bankgroup", "column")


def build_dram(store: Store, gpu: Gpu) -> None:
    """Numbers and tables of all channels."""
    dram = gpu.dram
    clocks, distances = timing_clocks(dram), distances_of(table_of(dram))
    places = parse_map(
        dram.address_map, dram.bank_groups, dram.banks_per_group, dram.rows, dram.row_bytes // SECTOR_BYTES
    )
    lanes, banks = dram.pseudo_channels_per_channel, dram.bank_groups * dram.banks_per_group
    channels, pseudos = dram.channels, dram.channels * lanes
    every = (1 << banks) - 1
    every = every - (1 << 64) if every >= 1 << 63 else every
    store.set(
        part_channels=gpu.channels_per_memory_partition,
        part_pseudos=gpu.channels_per_memory_partition * lanes,
        controller_fs=dram.controller_latency_ns * FEMTOSECONDS_PER_NANOSECOND,
        burst_fs=dram.timing.burst_fs,
        lanes=lanes,
        whole_lines=int(places.column_mask & LINE_MASK == LINE_MASK),
        bank_count=banks,
        all_banks=every,
        read_depth=dram.read_queue_depth,
        write_depth=dram.write_queue_depth,
        drain_high=dram.drain_high,
        drain_low=dram.drain_low,
        age_limit=dram.age_limit_cycles,
        closed_page=int(dram.page_policy == "closed"),
        refresh={"none": NO_REFRESH, "per_bank": PER_BANK, "all_bank": ALL_BANK}[dram.refresh],
        postpone=dram.refresh_postpone,
        refi=clocks.refi,
        refi_pb=clocks.refi_pb,
        burst_clocks=clocks.burst,
        segments=len(places.segments),
        bank_bits=places.bank_bits,
        group_bits=places.bank_group_bits,
        bank_folds=places.folds,
        bank_rotation=places.rotation,
    )
    record = store.record
    record["data_clocks"][0] = (clocks.cl + clocks.burst, clocks.cwl + clocks.burst)
    for name in type(distances).__slots__:
        value = getattr(distances, name)
        record[name] = np.array(value).reshape(-1) if isinstance(value, tuple) else value
    segments = [(SEGMENT_FIELDS.index(s.field), s.low, s.width, s.shift) for s in places.segments]
    store.put("segment_table", np.array(segments, np.int64))
    store.records(
        "channels",
        layout_memory.CHANNEL,
        channels,
        tick_ck=-1,
        refresh_wake=FAR,
        last_column_ck=-1,
        last_row_ck=-1,
        due=FAR,
    )
    table = store.records(
        "pseudos",
        layout_memory.PSEUDO,
        pseudos,
        last_acts=-FAR,
        bus_mode=-1,
        column_wake=FAR,
        row_wake=FAR,
        refresh_due=FAR,
        refresh_bank=-1,
        refresh_look_ck=FAR,
    )
    table["refresh_left"] = every
    table = store.records(
        "banks",
        layout_memory.BANK,
        pseudos * banks,
        open_row=-1,
        head=-1,
        tail=-1,
        hit=-1,
        column_key=-1,
        row_key=-1,
    )
    table["group"] = np.arange(pseudos * banks) % banks // dram.banks_per_group
    store.integers("key_table", pseudos * 4 * banks)
    store.integers("unwritten", pseudos * CHAINS, -1)

"""Between the L2 slices of a memory partition and its DRAM channels: the path to the controllers, and waiting
in front of them.

The machine of the reference engine's file of this name. Sectors of write-backs that are not yet in a
channel's queue stand in small chains by their low bits.
"""

from __future__ import annotations

from typing import Any

from hwmodels.dram.address_map import split_pseudo_channel, split_sector
from hwmodels.dram.dealing import dealt_sector
from hwmodels.slice_hash import local_line
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.dram import next_ck, push_read, push_write
from simulator.machine.compiled.dram import tick as tick_channel
from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import P_TRANSFERS, queue
from simulator.machine.compiled.layout_memory import channel, partition, pseudo, transfer_at
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.transfers import (
    append_transfer,
    first_transfer_key,
    insert_transfer,
    pull_transfer,
)
from simulator.machine.order import NEVER
from simulator.machine.state_dram import FAR, READ, WRITE
from simulator.statistics.schema import INDEX

C_DRAM_READS = INDEX["dram_read_sectors"]
C_DRAM_WRITES = INDEX["dram_write_sectors"]
CHAINS = 64
"""Chains of unwritten sectors of a pseudo-channel."""


@inlined
def first_sector(m: Any, slice_id: int, line: int) -> int:
    """Number, inside the partition, of the line's sector 0; XOR a sector (0–3) with it for the others."""
    return dealt_sector(
        local_line(line, m.slices, m.l2_partitions), 0, slice_id % m.part_slices, m.part_slices
    )


@inlined
def _put_on_way(m: Any, part: int, entry: int, arrive_fs: int, place: int, kernel: int) -> None:
    """Send a transfer to the controller of its sector, which has number `place` in the partition."""
    state = partition(m.partitions, part)
    state.number += 1
    one = transfer_at(m.transfers, entry)
    one.where = part * m.part_pseudos + split_pseudo_channel(place, m.part_pseudos)
    one.sector = split_sector(place, m.part_pseudos)
    one.kernel = kernel
    one.arrive_fs = arrive_fs
    insert_transfer(m, m.q_on_way + part, entry, arrive_fs, state.number)
    state.way_fs = min(state.way_fs, arrive_fs)
    state.due_fs = min(state.due_fs, (arrive_fs + m.clock_fs - 1) // m.clock_fs * m.clock_fs)


@compiled
def fetch(m: Any, slice_id: int, line: int, sectors: int, kernel: int, leaves_fs: int) -> None:
    """Read sectors of a line; the requests leave the slice at `leaves_fs`."""
    part = slice_id // m.part_slices
    first = first_sector(m, slice_id, line)
    arrive_fs = leaves_fs + m.there_fs
    for bit in range(4):
        if sectors >> bit & 1:
            entry = take(m, P_TRANSFERS)
            one = transfer_at(m.transfers, entry)
            one.writes = 0
            one.slice = slice_id
            one.line = line
            one.bit = bit
            _put_on_way(m, part, entry, arrive_fs, first ^ bit, kernel)


@compiled
def has_write_places(m: Any, slice_id: int, line: int, sectors: int) -> int:
    """Whether the pseudo-channels of these sectors have room for one more write each."""
    part = slice_id // m.part_slices
    first = first_sector(m, slice_id, line)
    for bit in range(4):
        if sectors >> bit & 1:
            where = part * m.part_pseudos + split_pseudo_channel(first ^ bit, m.part_pseudos)
            pc = pseudo(m.pseudos, where)
            if pc.outside + pc.waiting[WRITE] >= m.write_depth:
                return 0
    return 1


@compiled
def write_back(m: Any, slice_id: int, line: int, sectors: int, kernel: int, leaves_fs: int) -> None:
    """Write sectors of an evicted line."""
    part = slice_id // m.part_slices
    first = first_sector(m, slice_id, line)
    for bit in range(4):
        if sectors >> bit & 1:
            entry = take(m, P_TRANSFERS)
            one = transfer_at(m.transfers, entry)
            one.writes = 1
            _put_on_way(m, part, entry, leaves_fs + m.there_fs, first ^ bit, kernel)
            pseudo(m.pseudos, one.where).outside += 1
            chain = one.where * CHAINS + one.sector % CHAINS
            one.chain = load(m.unwritten, chain)
            store(m.unwritten, chain, entry)


@inlined
def _is_unwritten(m: Any, where: int, sector: int) -> int:
    entry = load(m.unwritten, where * CHAINS + sector % CHAINS)
    while entry >= 0:
        one = transfer_at(m.transfers, entry)
        if one.sector == sector:
            return 1
        entry = one.chain
    return 0


@compiled
def _note_written(m: Any, entry: int) -> None:
    """A write-back has got its place in the channel's queue."""
    one = transfer_at(m.transfers, entry)
    chain = one.where * CHAINS + one.sector % CHAINS
    other = load(m.unwritten, chain)
    if other == entry:
        store(m.unwritten, chain, one.chain)
        return
    while transfer_at(m.transfers, other).chain != entry:
        other = transfer_at(m.transfers, other).chain
    transfer_at(m.transfers, other).chain = one.chain


@inlined
def _read_may_go(m: Any, where: int) -> int:
    """Whether the first read in front of a queue may join it now."""
    head = queue(m.queues, m.q_front + 2 * where + READ).head
    if head < 0 or pseudo(m.pseudos, where).waiting[READ] >= m.read_depth:
        return 0
    return 0 if _is_unwritten(m, where, transfer_at(m.transfers, head).sector) else 1


@inlined
def _write_may_go(m: Any, where: int) -> int:
    head = queue(m.queues, m.q_front + 2 * where + WRITE).head
    return 1 if head >= 0 and pseudo(m.pseudos, where).waiting[WRITE] < m.write_depth else 0


@compiled
def _push(m: Any, ch: int, ck: int) -> None:
    """Fill the queues of a channel."""
    state = channel(m.channels, ch)
    for lane in range(m.lanes):
        where = ch * m.lanes + lane
        while _write_may_go(m, where):
            entry = pull_transfer(m, m.q_front + 2 * where + WRITE)
            _note_written(m, entry)
            push_write(m, ch, lane, entry, ck)
            state.waiting -= 1
            pseudo(m.pseudos, where).outside -= 1
            count(m, transfer_at(m.transfers, entry).kernel, C_DRAM_WRITES, 1)
        while _read_may_go(m, where):
            entry = pull_transfer(m, m.q_front + 2 * where + READ)
            push_read(m, ch, lane, entry, ck)
            state.waiting -= 1
            count(m, transfer_at(m.transfers, entry).kernel, C_DRAM_READS, 1)


@compiled
def tick(m: Any, part: int, ck: int) -> int:
    """One memory clock; whether a write has got a place, so that evictions may go on."""
    own = partition(m.partitions, part)
    now_fs = ck * m.clock_fs
    while own.way_fs <= now_fs:
        entry = pull_transfer(m, m.q_on_way + part)
        own.way_fs = first_transfer_key(m, m.q_on_way + part)
        one = transfer_at(m.transfers, entry)
        where = one.where
        append_transfer(m, m.q_front + 2 * where + (WRITE if one.writes else READ), entry)
        state = channel(m.channels, where // m.lanes)
        state.waiting += 1
        state.retry = 1
        state.due = ck
    freed = 0
    following = FAR
    for ch in range(part * m.part_channels, (part + 1) * m.part_channels):
        state = channel(m.channels, ch)
        if state.due <= ck:
            if state.retry:
                state.retry = 0
                _push(m, ch, ck)
            tick_channel(m, ch, ck)
            state.due = next_ck(m, ch, ck)
            if (state.read or state.wrote) and state.waiting:
                # A command has freed a place: fill it at the next clock.
                state.retry = 1
                state.due = ck + 1
            freed |= state.wrote
            state.read = 0
            state.wrote = 0
        following = min(following, state.due)
    if own.way_fs < NEVER:
        following = min(following, (own.way_fs + m.clock_fs - 1) // m.clock_fs)
    own.due_fs = following * m.clock_fs if following < FAR else NEVER
    return freed

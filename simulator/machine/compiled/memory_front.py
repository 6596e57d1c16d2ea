"""Between the L2 slices of a memory partition and its DRAM channels: the path to the controllers, and waiting
in front of them.

The machine of the reference engine's file of this name. Where the sectors of a line share a DRAM row, they
travel as one transfer, which is divided when only some of them may go on. Write-backs that are not yet in a
channel's queue stand in small chains by the low bits of their place.
"""

from __future__ import annotations

from typing import Any

from hwmodels.coalescing import SECTORS_PER_LINE
from hwmodels.dram.address_map import split_pseudo_channel, split_sector
from hwmodels.dram.dealing import dealt_sector
from hwmodels.slice_hash import local_line
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.dram import advance, answer_at_once, answered_by_write, next_ck
from simulator.machine.compiled.dram import tick as tick_channel
from simulator.machine.compiled.dram_queue import decoded, push
from simulator.machine.compiled.jit import bit_count, compiled, inlined, load, lowest_bit, quotient, store
from simulator.machine.compiled.layout import P_TRANSFERS, queue
from simulator.machine.compiled.layout_memory import channel, miss, partition, pseudo, transfer_at
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.transfers import (
    append_transfer,
    divide,
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
    """Number, inside the partition, of the line's sector 0; the others follow it."""
    return dealt_sector(
        local_line(line, m.slices, m.l2_partitions), 0, slice_id % m.part_slices, m.part_slices
    )


@inlined
def _transfer(m: Any, part: int, first: int, sectors: int, kernel: int, arrive_fs: int) -> int:
    """Send a transfer to the controller of a line, whose sector 0 has number `first` in the partition."""
    state = partition(m.partitions, part)
    state.number += 1
    entry = take(m, P_TRANSFERS)
    one = transfer_at(m.transfers, entry)
    one.where = part * m.part_pseudos + split_pseudo_channel(first, m.part_pseudos)
    one.sector = split_sector(first, m.part_pseudos)
    one.sectors = sectors
    one.kernel = kernel
    one.arrive_fs = arrive_fs
    insert_transfer(m, m.transfers, m.q_on_way + part, entry, arrive_fs, state.number)
    state.way_fs = min(state.way_fs, arrive_fs)
    state.due_fs = min(state.due_fs, quotient(arrive_fs + m.clock_fs - 1, m.clock_fs) * m.clock_fs)
    return entry


@inlined
def _together(m: Any, sectors: int) -> int:
    """Of these sectors the first, and those that travel with it."""
    return sectors if m.whole_lines else sectors & -sectors


@compiled
def fetch(
    m: Any, slice_id: int, line: int, sectors: int, miss_entry: int, kernel: int, leaves_fs: int
) -> None:
    """Read sectors of a line for an MSHR; the requests leave the slice at `leaves_fs`."""
    part = quotient(slice_id, m.part_slices)
    first = first_sector(m, slice_id, line)
    while sectors:
        going = _together(m, sectors)
        sectors ^= going
        one = transfer_at(m.transfers, _transfer(m, part, first, going, kernel, leaves_fs + m.there_fs))
        one.writes = 0
        one.slice = slice_id
        one.line = line
        one.entry = miss_entry
        one.slot = miss(m.misses, miss_entry).slot


@compiled
def has_write_place(m: Any, slice_id: int, line: int) -> int:
    """Whether the pseudo-channel of a line has room for one more write."""
    where = quotient(slice_id, m.part_slices) * m.part_pseudos + split_pseudo_channel(
        first_sector(m, slice_id, line), m.part_pseudos
    )
    pc = pseudo(m.pseudos, where)
    return 1 if pc.outside + pc.waiting[WRITE] < m.write_depth else 0


@inlined
def _chain(where: int, sector: int) -> int:
    """Where the chain of unwritten sectors begins that sectors of this line are in."""
    return where * CHAINS + sector // SECTORS_PER_LINE % CHAINS


@compiled
def write_back(m: Any, slice_id: int, line: int, sectors: int, kernel: int, leaves_fs: int) -> None:
    """Write sectors of an evicted line."""
    part = quotient(slice_id, m.part_slices)
    first = first_sector(m, slice_id, line)
    while sectors:
        going = _together(m, sectors)
        sectors ^= going
        entry = _transfer(m, part, first, going, kernel, leaves_fs + m.there_fs)
        one = transfer_at(m.transfers, entry)
        one.writes = 1
        pseudo(m.pseudos, one.where).outside += bit_count(going)
        chain = _chain(one.where, one.sector)
        one.chain = load(m.unwritten, chain)
        store(m.unwritten, chain, entry)


@inlined
def _unwritten(m: Any, where: int, sector: int) -> int:
    """The sectors of a line, whose sector 0 is given, that have not got their places in the queue."""
    sectors = 0
    entry = load(m.unwritten, _chain(where, sector))
    while entry >= 0:
        one = transfer_at(m.transfers, entry)
        if one.sector == sector:
            sectors |= one.sectors
        entry = one.chain
    return sectors


@compiled
def _note_written(m: Any, entry: int) -> None:
    """A write-back has got its places in the channel's queue."""
    one = transfer_at(m.transfers, entry)
    chain = _chain(one.where, one.sector)
    other = load(m.unwritten, chain)
    if other == entry:
        store(m.unwritten, chain, one.chain)
        return
    while transfer_at(m.transfers, other).chain != entry:
        other = transfer_at(m.transfers, other).chain
    transfer_at(m.transfers, other).chain = one.chain


@inlined
def _part_of(m: Any, which: int, going: int) -> int:
    """The first transfer of a queue, taken out, when all its sectors go; else one of those that go."""
    head = queue(m.queues, which).head
    if transfer_at(m.transfers, head).sectors == going:
        return pull_transfer(m, m.transfers, which)
    return divide(m, head, going)


@inlined
def _place_of(m: Any, one: Any) -> int:
    """Row and bank of a transfer."""
    return decoded(m, one.sector + lowest_bit(one.sectors))


@inlined
def _dealt(sectors: int, ready: int, room: int) -> tuple[int, int]:
    """Of sectors taken in turn while there is room: those that take a place, and those that are ready."""
    going = 0
    given = 0
    while sectors and room > 0:
        bit = sectors & -sectors
        sectors ^= bit
        if ready & bit:
            given |= bit
        else:
            going |= bit
            room -= 1
    return going, given


@compiled
def _let_writes_in(m: Any, ch: int, lane: int, ck: int) -> None:
    """Fill the write queue of a pseudo-channel."""
    where = ch * m.lanes + lane
    which = m.q_front + 2 * where + WRITE
    pc = pseudo(m.pseudos, where)
    while queue(m.queues, which).head >= 0 and pc.waiting[WRITE] < m.write_depth:
        head = queue(m.queues, which).head
        one = transfer_at(m.transfers, head)
        going, _ = _dealt(one.sectors, 0, m.write_depth - pc.waiting[WRITE])
        found = _place_of(m, one)
        entry = _part_of(m, which, going)
        if entry == head:
            _note_written(m, entry)
        size = bit_count(going)
        count(m, one.kernel, C_DRAM_WRITES, size)
        advance(m, ch, ck)
        push(m, ch, lane, WRITE, entry, found, ck)
        channel(m.channels, ch).waiting -= size
        pc.outside -= size


@compiled
def _let_reads_in(m: Any, ch: int, lane: int, ck: int) -> None:
    """Fill the read queue of a pseudo-channel. A sector that still waits to be written holds up those behind
    it; one whose write stands in the queue is answered by that.
    """
    where = ch * m.lanes + lane
    which = m.q_front + 2 * where + READ
    pc = pseudo(m.pseudos, where)
    while queue(m.queues, which).head >= 0 and pc.waiting[READ] < m.read_depth:
        one = transfer_at(m.transfers, queue(m.queues, which).head)
        left = one.sectors
        before = _unwritten(m, where, one.sector) & left
        if before:
            left &= (before & -before) - 1
            if not left:
                return
        advance(m, ch, ck)
        found = _place_of(m, one)
        ready = answered_by_write(m, where, one.sector, found) & left
        going, given = _dealt(left, ready, m.read_depth - pc.waiting[READ])
        blocked = one.sectors ^ going ^ given
        size = bit_count(going | given)
        count(m, one.kernel, C_DRAM_READS, size)
        channel(m.channels, ch).waiting -= size
        while given:
            bit = given & -given
            given ^= bit
            answer_at_once(m, ch, where, _part_of(m, which, bit), ck)
        if going:
            push(m, ch, lane, READ, _part_of(m, which, going), found, ck)
        if blocked:
            return


@compiled
def _fill(m: Any, ch: int, ck: int) -> None:
    """Fill the queues of a channel."""
    for lane in range(m.lanes):
        _let_writes_in(m, ch, lane, ck)
        _let_reads_in(m, ch, lane, ck)


@compiled
def tick(m: Any, part: int, ck: int) -> int:
    """One memory clock; whether a write has got a place, so that evictions may go on."""
    own = partition(m.partitions, part)
    now_fs = ck * m.clock_fs
    while own.way_fs <= now_fs:
        entry = pull_transfer(m, m.transfers, m.q_on_way + part)
        own.way_fs = first_transfer_key(m, m.transfers, m.q_on_way + part)
        one = transfer_at(m.transfers, entry)
        where = one.where
        append_transfer(m, m.q_front + 2 * where + (WRITE if one.writes else READ), entry)
        state = channel(m.channels, quotient(where, m.lanes))
        state.waiting += bit_count(one.sectors)
        state.retry = 1
        state.due = ck
    freed = 0
    following = FAR
    for ch in range(part * m.part_channels, (part + 1) * m.part_channels):
        state = channel(m.channels, ch)
        if state.due <= ck:
            if state.retry:
                state.retry = 0
                _fill(m, ch, ck)
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
        following = min(following, quotient(own.way_fs + m.clock_fs - 1, m.clock_fs))
    own.due_fs = following * m.clock_fs if following < FAR else NEVER
    return freed

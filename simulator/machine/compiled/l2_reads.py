"""Reads at an L2 slice, of an SM or of the slice in the other partition: hits, misses, merges.

The machine of the reference engine's file of this name.
"""

from __future__ import annotations

from typing import Any

from hwmodels.slice_hash import home_of
from simulator.machine.compiled.counts import mark
from simulator.machine.compiled.jit import bit_count, compiled
from simulator.machine.compiled.l2_answers import answer_to, count_sectors, hold_port
from simulator.machine.compiled.l2_misses import find, open_miss, request, wait
from simulator.machine.compiled.l2_output import CROSSINGS, is_full, leave
from simulator.machine.compiled.l2_room import make_room
from simulator.machine.compiled.l2_tags import find as find_slot
from simulator.machine.compiled.l2_tags import set_index, touch, victim
from simulator.machine.compiled.layout import packet
from simulator.machine.compiled.layout_memory import l2_line, miss, slice_at
from simulator.machine.state_l2 import FREE, MSHR_ENTRY, MSHR_MERGE, OUTPUT, SECTOR_BYTES
from simulator.statistics.phases import L2_QUEUE, PARTITION_LINK
from simulator.statistics.schema import INDEX

C_READ = INDEX["l2_read_requests"]
C_LINK_READ = INDEX["link_read_requests"]
WAITS = -2
"""In place of an MSHR: there is none to be had."""


@compiled
def _entry_for(
    m: Any, slice_id: int, which: int, line: int, index: int, entry: int, slot: int, now_fs: int
) -> int:
    """The MSHR that the missing sectors of a line of set `index` go to, opened if need be, or WAITS."""
    state = slice_at(m.slice_states, slice_id)
    if entry >= 0:
        if miss(m.misses, entry).requests >= m.l2_merges:
            state.cause[which] = MSHR_MERGE
            return WAITS
        return entry
    far = 1 if m.l2_partitions > 1 and home_of(line, m.slices, m.l2_partitions) != slice_id else 0
    if state.entries[far] >= m.l2_mshrs:
        state.cause[which] = MSHR_ENTRY
        return WAITS
    if slot == FREE:
        slot = victim(m, index)
        if slot != FREE and not make_room(m, slice_id, which, slot, line, now_fs):
            return WAITS
    return open_miss(m, slice_id, line, slot, far, now_fs)


@compiled
def _answer(
    m: Any, slice_id: int, asked: int, entry: int, hits: int, missing: int, cycle: int, crossing: int
) -> None:
    """A reply for each group of sectors that share a packet: now, or when its sectors are there. The packet
    that asked is the last of them.
    """
    left = packet(m.packets, asked).sectors
    ready = cycle if crossing else cycle + m.access_cycles
    for group in range(m.groups):
        sectors = left & m.group_masks[group]
        left &= ~sectors
        if sectors:
            reply = asked
            size = SECTOR_BYTES * bit_count(sectors)
            if left:
                reply = answer_to(m, asked, sectors, size)
            else:
                packet(m.packets, asked).sectors = sectors
                packet(m.packets, asked).payload = size
            if sectors & ~hits and entry >= 0:
                wait(m, entry, reply, sectors & ~hits, sectors & missing, ready, crossing)
            else:
                leave(m, slice_id, reply, ready, crossing)


@compiled
def read(m: Any, slice_id: int, which: int, asked: int, cycle: int, now_fs: int) -> int:
    """Look up a read; 0 when it must wait."""
    crossing = 1 if which == CROSSINGS else 0
    if not crossing and is_full(m, slice_id):
        slice_at(m.slice_states, slice_id).cause[which] = OUTPUT
        return 0
    one = packet(m.packets, asked)
    wanted = one.sectors
    index = set_index(m, slice_id, one.line)
    slot = find_slot(m, index, one.line)
    hits = 0 if slot == FREE else wanted & l2_line(m.l2_lines, slot).valid
    entry = find(m, slice_id, one.line, slot)
    merges = 0 if entry < 0 else wanted & ~hits & miss(m.misses, entry).pending
    missing = wanted & ~hits & ~merges
    if missing or merges:
        before = entry
        entry = _entry_for(m, slice_id, which, one.line, index, entry, slot, now_fs)
        if entry == WAITS:
            return 0
        if before < 0:
            slot = miss(m.misses, entry).slot
        miss(m.misses, entry).requests += 1
    if slot != FREE:
        touch(m, slice_id, slot)
        if crossing:
            l2_line(m.l2_lines, slot).copied |= wanted
    first = C_LINK_READ if crossing else C_READ
    count_sectors(m, first, one.kernel, wanted, hits, missing, merges)
    hold_port(m, slice_id, cycle, bit_count(hits) * SECTOR_BYTES)
    mark(one, PARTITION_LINK if crossing else L2_QUEUE, now_fs)
    _answer(m, slice_id, asked, entry, hits, missing, cycle, crossing)
    if missing:
        request(m, slice_id, entry, asked, missing, now_fs, crossing)
    return 1

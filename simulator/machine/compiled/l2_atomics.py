"""Atomics and reductions, done at their home slice by its one atomic unit.

The machine of the reference engine's file of this name.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import mark
from simulator.machine.compiled.jit import compiled
from simulator.machine.compiled.l2_answers import answer_to, count_sectors, hold_port, invalidate_copy
from simulator.machine.compiled.l2_misses import find, keep_now, open_miss, request, wait
from simulator.machine.compiled.l2_output import acknowledge, is_full, leave
from simulator.machine.compiled.l2_room import own_slot
from simulator.machine.compiled.l2_tags import slot_of, touch
from simulator.machine.compiled.layout import P_PACKETS, packet
from simulator.machine.compiled.layout_memory import l2_line, miss, slice_at
from simulator.machine.compiled.pools import give
from simulator.machine.messages import ATOMIC, REDUCE
from simulator.machine.state_l2 import ATOMIC_UNIT, FREE, MSHR_ENTRY, MSHR_MERGE, OUTPUT, SECTOR_BYTES
from simulator.statistics.phases import L2_QUEUE
from simulator.statistics.schema import INDEX

C_ATOMIC = INDEX["l2_atomic_requests"]


@compiled
def _lacks(m: Any, slice_id: int, which: int, asked: int, cycle: int) -> int:
    """Whether the unit or the way out keeps the request waiting."""
    state = slice_at(m.slice_states, slice_id)
    if state.atomic_tenths > 10 * cycle:
        state.cause[which] = ATOMIC_UNIT
        state.wake[which] = -(-state.atomic_tenths // 10)
        return 1
    if packet(m.packets, asked).operation == ATOMIC and is_full(m, slice_id):
        state.cause[which] = OUTPUT
        return 1
    return 0


@compiled
def _answer(
    m: Any,
    slice_id: int,
    asked: int,
    slot: int,
    entry: int,
    missing: int,
    merges: int,
    cycle: int,
    now_fs: int,
) -> None:
    """Let the result wait for its sectors, or leave."""
    one = packet(m.packets, asked)
    reply = asked
    if one.operation != REDUCE:
        reply = answer_to(m, asked, one.sectors, SECTOR_BYTES)
    ready = cycle + m.access_cycles
    if missing or merges:
        wait(m, entry, reply, missing | merges, missing, ready, 0)
        if missing:
            request(m, slice_id, entry, asked, missing, now_fs, 0)
    else:
        line = l2_line(m.l2_lines, slot)
        line.dirty |= one.sectors
        line.owner = one.kernel
        if one.operation == REDUCE:
            acknowledge(m, slice_id, reply, ready)
        else:
            leave(m, slice_id, reply, ready, 0)
    if reply != asked:
        give(m, P_PACKETS, asked)


@compiled
def atomic(m: Any, slice_id: int, which: int, asked: int, cycle: int, now_fs: int) -> int:
    """Look up an atomic or a reduction; 0 when it must wait."""
    if _lacks(m, slice_id, which, asked, cycle):
        return 0
    state = slice_at(m.slice_states, slice_id)
    one = packet(m.packets, asked)
    held = slot_of(m, slice_id, one.line)
    entry = find(m, slice_id, one.line, held)
    hits = 0 if held == FREE else one.sectors & l2_line(m.l2_lines, held).valid
    merges = 0 if entry < 0 else one.sectors & ~hits & miss(m.misses, entry).pending
    missing = one.sectors & ~hits & ~merges
    if missing or merges:
        if entry >= 0 and miss(m.misses, entry).requests >= m.l2_merges:
            state.cause[which] = MSHR_MERGE
            return 0
        if entry < 0 and state.entries[0] >= m.l2_mshrs:
            state.cause[which] = MSHR_ENTRY
            return 0
    slot = own_slot(m, slice_id, which, one.line, now_fs)
    if slot == FREE:
        return 0
    if missing or merges:
        if entry < 0:
            entry = open_miss(m, slice_id, one.line, slot, 0, now_fs)
        elif miss(m.misses, entry).slot == FREE:
            keep_now(m, slice_id, entry, slot)
        miss(m.misses, entry).requests += 1
    touch(m, slice_id, slot)
    invalidate_copy(m, slice_id, asked, slot, cycle)
    count_sectors(m, C_ATOMIC, one.kernel, one.sectors, hits, missing, merges)
    # The unit keeps its fraction of a cycle while requests follow each other without a gap.
    start = state.atomic_tenths if 10 * cycle - state.atomic_tenths < 10 else 10 * cycle
    state.atomic_tenths = start + m.atomic_tenths
    hold_port(m, slice_id, cycle, one.payload)
    mark(one, L2_QUEUE, now_fs)
    _answer(m, slice_id, asked, slot, entry, missing, merges, cycle, now_fs)
    return 1

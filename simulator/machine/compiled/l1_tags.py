"""The tag array of L1: sets of lines with valid, pending and dirty sectors, LRU replacement, and what drops
it.

A slot is a way of a set, numbered over all SMs. A line is found by looking through its set.
"""

from __future__ import annotations

from typing import Any

from hwmodels.cache import set_of
from hwmodels.coalescing import LINE_BYTES
from hwmodels.replacement import lru_way
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import ahead, bit_count, compiled, inlined, load, sequence, store
from simulator.machine.compiled.layout import CACHE_LINE, INTEGER_BYTES, ON_ITS_WAY
from simulator.machine.compiled.layout_sm import L1_LINE, l1_line, sm_at
from simulator.statistics.schema import INDEX

C_DIRTY_LEFT = INDEX["l1_dirty_left"]
EMPTY = -1
UNUSED = -1
"""Stamp of an empty way: below all others."""
ask_line = ahead(CACHE_LINE)
ask_l1_line = ahead(L1_LINE)
CARVEOUT_WITH_MISSES = 102
"""Error: the carve-out changed while sectors were on their way, which the launcher rules out."""


@inlined
def first_slot(m: Any, sm: int, line: int) -> int:
    """The first slot of a line's set."""
    return sm * m.l1_slots + set_of(line, sm_at(m.sm_states, sm).sets) * m.l1_ways


@inlined
def ask_set(m: Any, sm: int, line: int) -> None:
    """Ask memory for the set of a line that will be looked up."""
    first = first_slot(m, sm, line)
    place = INTEGER_BYTES * first
    ask_line(m.l1_tags + place, 0)
    ask_line(m.l1_stamps + place, 0)
    ask_l1_line(m.l1_lines, first)


@compiled
def find(m: Any, sm: int, line: int) -> int:
    """The slot that holds a line, or EMPTY."""
    start = first_slot(m, sm, line)
    for slot in range(start, start + m.l1_ways):
        if load(m.l1_tags, slot) == line:
            return slot
    return EMPTY


@compiled
def drop_all(m: Any, sm: int) -> int:
    """Forget all lines but those on their way, whose number is returned; count the dirty sectors lost."""
    kept = 0
    for slot in range(sm * m.l1_slots, sm * m.l1_slots + sm_at(m.sm_states, sm).sets * m.l1_ways):
        if load(m.l1_tags, slot) == EMPTY:
            continue
        one = l1_line(m.l1_lines, slot)
        if one.dirty:
            count(m, one.kernel, C_DIRTY_LEFT, bit_count(one.dirty))
        one.valid = 0
        one.dirty = 0
        if one.pending:
            kept += 1
        else:
            store(m.l1_tags, slot, EMPTY)
            store(m.l1_stamps, slot, UNUSED)
    return kept


@compiled
def prepare(m: Any, sm: int, kernel: int, carveout: int) -> None:
    """Before a block of `kernel` starts: take the carve-out, and drop everything at a kernel's first
    block.
    """
    own = sm_at(m.sm_states, sm)
    seen = sm * m.kernels + kernel
    if not load(m.seen, seen):
        store(m.seen, seen, 1)
        drop_all(m, sm)
    if carveout != own.carveout:
        if drop_all(m, sm):
            m.error = CARVEOUT_WITH_MISSES
        own.carveout = carveout
        kib = max((carveout + 1023) // 1024, m.l1_unusable_kib)
        own.sets = max(1, (m.l1_kib - kib) * 1024 // (LINE_BYTES * m.l1_ways))


@inlined
def touch(m: Any, sm: int, slot: int) -> None:
    """Make a line the most recently used."""
    own = sm_at(m.sm_states, sm)
    own.stamp += 1
    store(m.l1_stamps, slot, own.stamp | load(m.l1_stamps, slot) & ON_ITS_WAY)


@inlined
def pin(m: Any, slot: int) -> None:
    """Keep a line in its way while sectors of it are on their way."""
    store(m.l1_stamps, slot, load(m.l1_stamps, slot) | ON_ITS_WAY)


@inlined
def unpin(m: Any, slot: int) -> None:
    """Let it go again."""
    store(m.l1_stamps, slot, load(m.l1_stamps, slot) & ~ON_ITS_WAY)


@compiled
def victim(m: Any, sm: int, line: int) -> int:
    """The slot that `line` would get: an empty one, or the least recently used that is not on its way; EMPTY
    if there is none.
    """
    start = first_slot(m, sm, line)
    way = lru_way(sequence(m.l1_stamps, 0).v, start, m.l1_ways)
    return EMPTY if load(m.l1_stamps, start + way) >= ON_ITS_WAY else start + way


@inlined
def put(m: Any, slot: int, line: int, kernel: int) -> None:
    """Give a slot to a line."""
    store(m.l1_tags, slot, line)
    store(m.l1_stamps, slot, 0)
    one = l1_line(m.l1_lines, slot)
    one.valid = 0
    one.pending = 0
    one.dirty = 0
    one.kernel = kernel
    one.bringing = -1

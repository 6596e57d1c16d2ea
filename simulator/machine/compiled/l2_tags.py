"""Tags of an L2 slice: which lines it holds, which sectors of them, and which line gives room.

A slot is a way of a set of a slice, numbered over all slices. The stamp of one tells when it was used last;
while sectors of its line are on their way it also names the MSHR that waits for them, above all stamps of
others, so that it is never the one to go. Rules are in `hwmodels`.
"""

from __future__ import annotations

from typing import Any

from hwmodels.cache import set_of
from hwmodels.replacement import lru_way
from hwmodels.slice_hash import local_line
from simulator.machine.compiled.jit import ahead, compiled, inlined, load, sequence, store
from simulator.machine.compiled.layout import CACHE_LINE, INTEGER_BYTES, LINE_BYTES, ON_ITS_WAY
from simulator.machine.compiled.layout_memory import L2_LINE, l2_line, slice_at
from simulator.machine.state_l2 import FREE

L2_LINE_BYTES = L2_LINE.itemsize
INTEGERS = LINE_BYTES // INTEGER_BYTES
"""Ways of which a cache line of the computer has the tags."""
ask_line = ahead(CACHE_LINE)
ENTRY_SHIFT = 40
"""In a stamp: the number of an MSHR stands above this bit, the slice's counter of uses below it."""
USE_MASK = (1 << ENTRY_SHIFT) - 1
MOST_ENTRIES = ON_ITS_WAY >> ENTRY_SHIFT
"""MSHRs that have numbers."""


@inlined
def set_index(m: Any, slice_id: int, line: int) -> int:
    """The set of a line, numbered over all slices."""
    return slice_id * m.l2_sets + set_of(local_line(line, m.slices, m.l2_partitions), m.l2_sets)


@compiled
def find(m: Any, index: int, line: int) -> int:
    """The slot of a set that holds a line, or FREE."""
    start = index * m.l2_ways
    for slot in range(start, start + m.l2_ways):
        if load(m.l2_tags, slot) == line:
            return slot
    return FREE


@inlined
def ask_set(m: Any, index: int) -> None:
    """Ask memory for a set that will be looked through."""
    first = index * m.l2_ways
    for way in range(first, first + m.l2_ways, INTEGERS):
        ask_line(m.l2_tags + INTEGER_BYTES * way, 0)
        ask_line(m.l2_stamps + INTEGER_BYTES * way, 0)
        ask_line(m.l2_lines + L2_LINE_BYTES * way, 0)


@inlined
def slot_of(m: Any, slice_id: int, line: int) -> int:
    """The slot that holds a line, or FREE."""
    return find(m, set_index(m, slice_id, line), line)


@compiled
def victim(m: Any, index: int) -> int:
    """The slot for a line of a set that is not held; FREE when all lines of the set are on their way."""
    start = index * m.l2_ways
    slot = start + lru_way(sequence(m.l2_stamps, 0).v, start, m.l2_ways)
    return FREE if load(m.l2_stamps, slot) >= ON_ITS_WAY else slot


@inlined
def touch(m: Any, slice_id: int, slot: int) -> None:
    """Make it the most recently used."""
    state = slice_at(m.slice_states, slice_id)
    state.use += 1
    store(m.l2_stamps, slot, state.use | load(m.l2_stamps, slot) & ~USE_MASK)


@inlined
def replace(m: Any, slice_id: int, slot: int, line: int) -> None:
    """Give a slot to a line, with no sectors yet."""
    store(m.l2_tags, slot, line)
    one = l2_line(m.l2_lines, slot)
    one.valid = 0
    one.dirty = 0
    one.copied = 0
    touch(m, slice_id, slot)


@inlined
def pin(m: Any, slot: int, entry: int) -> None:
    """Keep a line in its way while sectors of it are on their way, for which MSHR `entry` waits."""
    store(m.l2_stamps, slot, load(m.l2_stamps, slot) & USE_MASK | ON_ITS_WAY | entry << ENTRY_SHIFT)


@inlined
def pinned_by(m: Any, slot: int) -> int:
    """The MSHR that waits for sectors of a line, or −1."""
    stamp = load(m.l2_stamps, slot)
    return (stamp ^ ON_ITS_WAY) >> ENTRY_SHIFT if stamp >= ON_ITS_WAY else -1


@inlined
def unpin(m: Any, slot: int) -> None:
    """Let it go again."""
    store(m.l2_stamps, slot, load(m.l2_stamps, slot) & USE_MASK)


@compiled
def preload(m: Any, slice_id: int, line: int, sectors: int) -> None:
    """Put sectors there before time starts; what they replace vanishes without traffic."""
    index = set_index(m, slice_id, line)
    slot = find(m, index, line)
    if slot == FREE:
        slot = victim(m, index)
        replace(m, slice_id, slot, line)
    touch(m, slice_id, slot)
    l2_line(m.l2_lines, slot).valid |= sectors

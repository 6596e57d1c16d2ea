"""Room for a line in an L2 slice: the way it gets, and the write-back of what stood there.

A line is evicted only when DRAM has places for its dirty sectors, so the way and the write-back are had
together or not at all. The machine of the reference engine's file of this name.
"""

from __future__ import annotations

from typing import Any

from hwmodels.slice_hash import line_from, local_line
from hwmodels.write_back import first_of_group, is_cold
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import bit_count, compiled, load, store
from simulator.machine.compiled.l2_tags import ask_set, find, replace, set_index, victim
from simulator.machine.compiled.layout_memory import l2_line, slice_at
from simulator.machine.compiled.memory_front import has_write_place, write_back
from simulator.machine.state_l2 import FREE, WAY, WRITE_PLACE
from simulator.statistics.schema import INDEX

C_WRITEBACKS = INDEX["l2_writeback_sectors"]


@compiled
def clean(m: Any, slice_id: int, slot: int, now_fs: int) -> int:
    """Write the dirty sectors of a line back, and keep it; 0 when DRAM has no places for them."""
    one = l2_line(m.l2_lines, slot)
    line = load(m.l2_tags, slot)
    if not has_write_place(m, slice_id, line):
        return 0
    count(m, one.owner, C_WRITEBACKS, bit_count(one.dirty))
    write_back(m, slice_id, line, one.dirty, one.owner, now_fs)
    one.dirty = 0
    return 1


@compiled
def clean_row(m: Any, slice_id: int, slot: int, now_fs: int) -> None:
    """Write back the cold dirty lines that share DRAM rows with the line of a slot, until a queue is full.
    One with sectors on their way is never cold: its stamp is above all others.
    """
    use = slice_at(m.slice_states, slice_id).use
    first = first_of_group(local_line(load(m.l2_tags, slot), m.slices, m.l2_partitions), m.write_back_lines)
    for place in range(m.write_back_lines):
        line = line_from(slice_id, first + place, m.slices, m.l2_partitions)
        index = set_index(m, slice_id, line)
        store(m.near, 2 * place, line)
        store(m.near, 2 * place + 1, index)
        ask_set(m, index)
    for place in range(m.write_back_lines):
        other = find(m, load(m.near, 2 * place + 1), load(m.near, 2 * place))
        if (
            other != FREE
            and l2_line(m.l2_lines, other).dirty
            and is_cold(use, load(m.l2_stamps, other), m.l2_sets * m.l2_ways)
            and not clean(m, slice_id, other, now_fs)
        ):
            return


@compiled
def make_room(m: Any, slice_id: int, which: int, slot: int, line: int, now_fs: int) -> int:
    """Give a slot to a line, writing back what it holds; 0 when DRAM has no places for that."""
    if l2_line(m.l2_lines, slot).dirty:
        if not clean(m, slice_id, slot, now_fs):
            slice_at(m.slice_states, slice_id).cause[which] = WRITE_PLACE
            return 0
        if m.write_back_lines > 1:
            clean_row(m, slice_id, slot, now_fs)
    replace(m, slice_id, slot, line)
    return 1


@compiled
def own_slot(m: Any, slice_id: int, which: int, line: int, now_fs: int) -> int:
    """The slot of a line that will be dirty, made if need be; FREE when that must wait."""
    index = set_index(m, slice_id, line)
    slot = find(m, index, line)
    if slot == FREE:
        slot = victim(m, index)
        if slot == FREE:
            slice_at(m.slice_states, slice_id).cause[which] = WAY
        elif not make_room(m, slice_id, which, slot, line, now_fs):
            slot = FREE
    return slot

"""Room for a line in an L2 slice: the way it gets, and the write-back of what stood there.

A line is evicted only when DRAM has places for its dirty sectors, so the way and the write-back are had
together or not at all.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import bit_count, compiled, load
from simulator.machine.compiled.l2_tags import replace, slot_of, victim
from simulator.machine.compiled.layout_memory import l2_line, slice_at
from simulator.machine.compiled.memory_front import has_write_places, write_back
from simulator.machine.state_l2 import FREE, WAY, WRITE_PLACE
from simulator.statistics.schema import INDEX

C_WRITEBACKS = INDEX["l2_writeback_sectors"]


@compiled
def make_room(m: Any, slice_id: int, which: int, slot: int, line: int, now_fs: int) -> int:
    """Give a slot to a line, writing back what it holds; 0 when DRAM has no places for that."""
    one = l2_line(m.l2_lines, slot)
    if one.dirty:
        old = load(m.l2_tags, slot)
        if not has_write_places(m, slice_id, old, one.dirty):
            slice_at(m.slice_states, slice_id).cause[which] = WRITE_PLACE
            return 0
        count(m, one.owner, C_WRITEBACKS, bit_count(one.dirty))
        write_back(m, slice_id, old, one.dirty, one.owner, now_fs)
    replace(m, slice_id, slot, line)
    return 1


@compiled
def own_slot(m: Any, slice_id: int, which: int, line: int, now_fs: int) -> int:
    """The slot of a line that will be dirty, made if need be; FREE when that must wait."""
    slot = slot_of(m, slice_id, line)
    if slot == FREE:
        slot = victim(m, slice_id, line)
        if slot == FREE:
            slice_at(m.slice_states, slice_id).cause[which] = WAY
        elif not make_room(m, slice_id, which, slot, line, now_fs):
            slot = FREE
    return slot

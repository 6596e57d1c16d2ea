"""Room for a line in an L2 slice: the way it gets, and the write-back of what stood there.

A line is evicted only when DRAM has places for its dirty sectors, so the way and the write-back are had
together or not at all. When a home line goes, the home forgets that the other partition had a copy. Which
way goes is decided in `l2_tags.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.state_l2 import FREE, WAY, WRITE_PLACE, InputQueue
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l2 import Slice

C_WRITEBACKS = INDEX["l2_writeback_sectors"]


def own_slot(part: Slice, queue: InputQueue, line: int, now_fs: int) -> int:
    """The slot of a line that will be dirty, made if need be; FREE when that must wait."""
    slot = part.state.slot_of.get(line, FREE)
    if slot == FREE:
        slot = part.tags.victim(line)
        if slot == FREE:
            queue.cause = WAY
        elif not make_room(part, queue, slot, line, now_fs):
            slot = FREE
    return slot


def make_room(part: Slice, queue: InputQueue, slot: int, line: int, now_fs: int) -> bool:
    """Give a slot to a line, writing back what it holds; False when DRAM has no places for that."""
    state = part.state
    dirty = state.dirty[slot]
    if dirty:
        old = state.line_of[slot]
        if not part.partition.memory.has_write_places(part.index, old, dirty):
            queue.cause = WRITE_PLACE
            return False
        kernel = state.owner[slot]
        part.partition.counts[kernel][C_WRITEBACKS] += dirty.bit_count()
        part.partition.memory.write_back(part.index, old, dirty, kernel, now_fs)
    part.tags.replace(slot, line)
    return True

"""Room for a line in an L2 slice: the way it gets, and the write-back of what stood there.

A line is evicted only when DRAM has places for its dirty sectors, so the way and the write-back are had
together or not at all. Dirty lines that share rows of DRAM with it are written back behind it, by number, as
far as there are places and nobody has used them lately; they stay, clean (`hwmodels/write_back.py`). All
leave the slice at once: the path to the controllers has a latency and no width, since DRAM is narrower. When
a home line goes, the home forgets that the other partition had a copy. Which way goes is decided in
`l2_tags.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.slice_hash import line_from, local_line
from hwmodels.write_back import first_of_group, is_cold
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
    if part.state.dirty[slot]:
        if not clean(part, slot, now_fs):
            queue.cause = WRITE_PLACE
            return False
        if part.write_back_lines > 1:
            clean_row(part, slot, now_fs)
    part.tags.replace(slot, line)
    return True


def clean(part: Slice, slot: int, now_fs: int) -> bool:
    """Write the dirty sectors of a line back, and keep it; False when DRAM has no places for them."""
    state = part.state
    dirty, line, kernel = state.dirty[slot], state.line_of[slot], state.owner[slot]
    memory = part.partition.memory
    if not memory.has_write_places(part.index, line, dirty):
        return False
    part.partition.counts[kernel][C_WRITEBACKS] += dirty.bit_count()
    memory.write_back(part.index, line, dirty, kernel, now_fs)
    state.dirty[slot] = 0
    return True


def clean_row(part: Slice, slot: int, now_fs: int) -> None:
    """Write back the cold dirty lines that share DRAM rows with the line of a slot, until a queue is full.

    A line on its way is left alone: what it waits for is about to change it.
    """
    state, tags = part.state, part.tags
    lines = part.write_back_lines
    first = first_of_group(local_line(state.line_of[slot], tags.slices, tags.partitions), lines)
    for near in range(first, first + lines):
        other = state.slot_of.get(line_from(part.ident, near, tags.slices, tags.partitions), FREE)
        if (
            other != FREE
            and state.dirty[other]
            and is_cold(state.use, state.stamp[other], state.sets * state.ways)
            and not tags.is_pinned(other)
            and not clean(part, other, now_fs)
        ):
            return

"""Tags of an L2 slice: which lines it holds, which sectors of them, and which line gives room.

Sectored, write-validate: a sector that is written whole becomes readable without a fetch; one that is
written in part is dirty and not readable until a read fetches the rest. Sets are found by the line's number
inside its slice, with any number of sets; the whole line number is the tag. Least recently used goes first;
a line on its way can't go. Rules are in `hwmodels/cache.py`, `replacement.py` and `slice_hash.py`.
"""

from __future__ import annotations

from hwmodels.cache import set_of
from hwmodels.gpu import Gpu
from hwmodels.replacement import free_lru_way
from hwmodels.slice_hash import local_line
from simulator.machine.state_l2 import FREE, SliceState


class Tags:
    """Looks up and replaces lines in the state of one slice."""

    def __init__(self, gpu: Gpu, state: SliceState) -> None:
        self.state = state
        self.slices = gpu.l2.slices
        self.partitions = gpu.l2.partitions

    def set_index(self, line: int) -> int:
        return set_of(local_line(line, self.slices, self.partitions), self.state.sets)

    def victim(self, line: int) -> int:
        """The slot for a line that is not held; FREE when all lines of its set are on their way."""
        state = self.state
        index = self.set_index(line)
        start = index * state.ways
        way = free_lru_way(state.stamp, state.pinned[index], start, state.ways)
        return FREE if way < 0 else start + way

    def touch(self, slot: int) -> None:
        """Make it the most recently used."""
        self.state.use += 1
        self.state.stamp[slot] = self.state.use

    def replace(self, slot: int, line: int) -> None:
        """Give a slot to a line, with no sectors yet."""
        state = self.state
        old = state.line_of[slot]
        if old != FREE:
            del state.slot_of[old]
        state.line_of[slot] = line
        state.slot_of[line] = slot
        state.valid[slot] = state.dirty[slot] = state.copied[slot] = 0
        self.touch(slot)

    def pin(self, slot: int) -> None:
        """Keep a line in its way while sectors of it are on their way."""
        self.state.pinned[slot // self.state.ways] |= 1 << slot % self.state.ways

    def unpin(self, slot: int) -> None:
        self.state.pinned[slot // self.state.ways] &= ~(1 << slot % self.state.ways)

    def is_pinned(self, slot: int) -> bool:
        """Whether sectors of the line in a slot are on their way."""
        return bool(self.state.pinned[slot // self.state.ways] >> slot % self.state.ways & 1)

    def preload(self, line: int, sectors: int, dirty: bool, kernel: int) -> None:
        """Put sectors there before time starts; what they replace vanishes without traffic."""
        slot = self.state.slot_of.get(line, FREE)
        if slot == FREE:
            slot = self.victim(line)
            self.replace(slot, line)
        self.touch(slot)
        self.state.valid[slot] |= sectors
        if dirty:
            self.state.dirty[slot] |= sectors
            self.state.owner[slot] = kernel

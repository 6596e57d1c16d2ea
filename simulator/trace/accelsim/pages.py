"""Pages of a recording that are kept on disk once they are many, and read when a block of theirs is opened.

A page in the store still has raw pattern numbers and raw addresses, since the last line of a trace may
change what they come to: patterns are numbered kind after kind, and offsets in the windows of shared and
local memory begin at the first byte that the kernel uses. Both are settled when a page is read. A page stays
alive as long as a warp walks it, so memory is bounded by the blocks that run.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from simulator.trace.accelsim.spill import Spill
from simulator.trace.recording import RecordingPage
from simulator.trace.recording_builder import renumbered

PAGE_INSTRUCTIONS = 1 << 16
OPEN_PAGES = 8
FIELDS = ("blocks", "instruction_starts", "variants", "access_starts", "bases", "pattern_ids")


class PageStore:
    """The pages of one kernel; those that are not in memory any more are in the run's spill."""

    def __init__(self, spill: Spill) -> None:
        self.spill = spill
        self.whole: list[RecordingPage] = []
        self.places: list[tuple[int, tuple[tuple[str, int], ...]]] = []

    def __len__(self) -> int:
        return len(self.places) + len(self.whole)

    def add(self, page: RecordingPage) -> None:
        """Keep a page."""
        self.whole.append(page)
        self.spill.hold(self, sum(getattr(page, name).nbytes for name in FIELDS))

    def write_out(self) -> None:
        """Move what is in memory to the spill."""
        for page in self.whole:
            arrays = [getattr(page, name) for name in FIELDS]
            start = self.spill.append(b"".join(array.tobytes() for array in arrays))
            self.places.append((start, tuple((array.dtype.str, len(array)) for array in arrays)))
        self.whole = []

    def read(self, index: int) -> RecordingPage:
        """A page as it was added."""
        if index >= len(self.places):
            return self.whole[index - len(self.places)]
        start, layout = self.places[index]
        sizes = [count * np.dtype(dtype).itemsize for dtype, count in layout]
        data = self.spill.read(start, sum(sizes))
        arrays = []
        for (dtype, _), size in zip(layout, sizes, strict=True):
            arrays.append(np.frombuffer(data[:size], dtype=dtype))
            data = data[size:]
        return RecordingPage(*arrays)


@dataclass(frozen=True, slots=True)
class Settlement:
    """What turns raw pages into final ones: first pattern id of each kind, how many address records each
    variant has, and what is subtracted from the base of its first and second one.
    """

    firsts: NDArray[np.int64]
    accesses: NDArray[np.int64]
    shifts: NDArray[np.int64]

    def settled(self, page: RecordingPage) -> RecordingPage:
        """The page in its final numbers."""
        if self.shifts.any():
            counts = self.accesses[page.variants]
            owners = np.repeat(page.variants, counts)
            first = np.repeat(np.cumsum(counts) - counts, counts)
            page = replace(page, bases=page.bases - self.shifts[owners, np.arange(len(owners)) - first])
        return renumbered(page, self.firsts)


class StoredPages(Sequence[RecordingPage]):
    """The pages of a finished recording, read on demand; the last few are kept."""

    def __init__(self, store: PageStore, settlement: Settlement) -> None:
        self.store = store
        self.settlement = settlement
        self.open: OrderedDict[int, RecordingPage] = OrderedDict()

    def __len__(self) -> int:
        return len(self.store)

    @overload
    def __getitem__(self, index: int) -> RecordingPage: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordingPage]: ...

    def __getitem__(self, index: int | slice) -> RecordingPage | Sequence[RecordingPage]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        page = self.open.get(index)
        if page is None:
            page = self.settlement.settled(self.store.read(index))
            self.open[index] = page
            if len(self.open) > OPEN_PAGES:
                self.open.popitem(last=False)
        else:
            self.open.move_to_end(index)
        return page

    def __iter__(self) -> Iterator[RecordingPage]:
        return (self[index] for index in range(len(self)))


class BlockPlaces:
    """(page, position in the page) by block number, in 8 bytes a block."""

    def __init__(self, order: "Sequence[int]", page_starts: Sequence[int]) -> None:
        self.rank = np.empty(len(order), dtype=np.int64)
        self.rank[np.asarray(order, dtype=np.int64)] = np.arange(len(order))
        self.starts = np.asarray(page_starts, dtype=np.int64)

    def __getitem__(self, block: int) -> tuple[int, int]:
        rank = int(self.rank[block])
        page = int(np.searchsorted(self.starts, rank, side="right")) - 1
        return page, rank - int(self.starts[page])

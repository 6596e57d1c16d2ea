"""The recorded form: for each warp of each block, which instructions it issued, with which lanes, at which
addresses.

A dynamic instruction is one small index into a table of variants (static instruction, mask). An address
record is a base and a pattern of 32 offsets: base + stride, base + delta (32 bits), or a list (64 bits),
each pattern kept once. Blocks are kept in pages of bounded size, so that neither the writer nor a reader
needs a whole trace in one array. About 6 bytes a warp instruction where a third of them access memory in
regular patterns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.trace.compiled_expression import Offsets
from simulator.trace.schema import FULL_MASK, LANES, Instruction

PAGE_INSTRUCTIONS = 1 << 18
DELTA_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class RecordingPage:
    """The warps of some blocks, one after the other: warp w of the k-th block is row k * warps_per_block + w.

    Row r issued `variants[instruction_starts[r]:instruction_starts[r + 1]]`, and its address records are
    `bases` and `pattern_ids` from `access_starts[r]` to `access_starts[r + 1]`.
    """

    blocks: NDArray[np.int64]
    instruction_starts: NDArray[np.int64]
    variants: NDArray[Any]
    access_starts: NDArray[np.int64]
    bases: NDArray[np.int64]
    pattern_ids: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Static instructions, variants of them by mask, address patterns, and the pages.

    `accesses[i]` is how many address records instruction i consumes. Pattern ids count strides first, then
    deltas, then lists.
    """

    instructions: tuple[Instruction, ...]
    fetch_addresses: tuple[int, ...]
    accesses: tuple[int, ...]
    variant_statics: NDArray[np.int32]
    variant_masks: NDArray[np.uint32]
    strides: NDArray[np.int64]
    deltas: NDArray[np.int32]
    lists: NDArray[np.int64]
    pages: Sequence[RecordingPage]
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def place_of(self, block: int) -> tuple[int, int]:
        """(page, position in the page) of a block."""
        if "places" not in self.derived:
            self.derived["places"] = {
                number: (index, position)
                for index, page in enumerate(self.pages)
                for position, number in enumerate(page.blocks.tolist())
            }
        place: tuple[int, int] = self.derived["places"][block]
        return place

    def patterns(self) -> list[Offsets]:
        """All address patterns as tuples of 32 offsets, by pattern id."""
        if "patterns" not in self.derived:
            lanes = np.arange(LANES, dtype=np.int64)
            tables = (self.strides[:, None] * lanes, self.deltas, self.lists)
            self.derived["patterns"] = [tuple(row) for table in tables for row in table.tolist()]
        patterns: list[Offsets] = self.derived["patterns"]
        return patterns

    def bytes_in_memory(self) -> int:
        """Bytes of all arrays: what a recording costs a reader."""
        shared = (self.variant_statics, self.variant_masks, self.strides, self.deltas, self.lists)
        paged = [
            array
            for page in self.pages
            for array in (
                page.instruction_starts,
                page.variants,
                page.access_starts,
                page.bases,
                page.pattern_ids,
            )
        ]
        return sum(array.nbytes for array in (*shared, *paged))


def encode(addresses: Sequence[int], mask: int = FULL_MASK) -> tuple[int, str, tuple[int, ...]]:
    """(base, kind, pattern) of the 32 addresses of a warp: "stride" (one number), "delta" or "list" (32
    offsets).

    The addresses of inactive lanes don't count: they are filled in so that the pattern comes out simple.
    """
    active = [lane for lane in range(LANES) if mask >> lane & 1]
    if not active:
        return 0, "stride", (0,)
    first = active[0]
    base = addresses[first]
    stride = 0
    if len(active) > 1:
        stride = (addresses[active[1]] - base) // (active[1] - first)
    if all(addresses[lane] == base + stride * (lane - first) for lane in active):
        return base - stride * first, "stride", (stride,)
    offsets = [0] * LANES
    for lane in active:
        offsets[lane] = addresses[lane] - base
    kind = "delta" if all(-DELTA_LIMIT <= offset < DELTA_LIMIT for offset in offsets) else "list"
    return base, kind, tuple(offsets)

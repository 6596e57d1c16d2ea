"""Writes the recorded form: a table of static instructions, then for each block and warp what it issued.

Blocks may come in any order and the warps of a block too; a block must be complete before the next begins.
Masks, variants and address patterns are numbered as they appear, and the encoding of each access (stride,
delta or list) is chosen by itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwmodels.errors import InputError
from hwmodels.operations import Operation, is_memory
from simulator.trace.flat import INSTRUCTION_BYTES
from simulator.trace.recording import PAGE_INSTRUCTIONS, Recording, RecordingPage, encode
from simulator.trace.schema import FULL_MASK, LANES, Instruction, KernelTrace

Access = tuple[int, str, tuple[int, ...]]
KINDS = ("stride", "delta", "list")


def smallest(values: Any) -> NDArray[Any]:
    """The values in the narrowest of 16 and 32 unsigned bits that holds them."""
    array = np.asarray(values, dtype="<i8")
    return array.astype("<u2" if int(array.max(initial=0)) < 1 << 16 else "<u4")


class Page:
    """A page being filled; its pattern ids are still `kind + 3 * number within the kind`."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.instruction_starts = [0]
        self.variants: list[int] = []
        self.access_starts = [0]
        self.bases: list[int] = []
        self.pattern_ids: list[int] = []

    def packed(self) -> RecordingPage:
        """The same as arrays."""
        return RecordingPage(
            np.array(self.blocks, dtype="<i8"),
            np.array(self.instruction_starts, dtype="<i8"),
            smallest(self.variants),
            np.array(self.access_starts, dtype="<i8"),
            np.array(self.bases, dtype="<i8"),
            smallest(self.pattern_ids),
        )


class RecordingBuilder:
    """Collects recorded warps; `build()` gives the KernelTrace.

    >>> builder = RecordingBuilder("load", grid=1, block=32, registers_per_thread=16)
    >>> load = builder.instruction(Instruction(Operation.LDG, dst=(2,), src=(4, 5), bytes_per_lane=4))
    >>> done = builder.instruction(Instruction(Operation.EXIT))
    >>> builder.warp(block=0, warp=0)
    >>> builder.issue(load, addresses=[0x1000 + 4 * lane for lane in range(32)])
    >>> builder.issue(done)
    >>> trace = builder.build()
    """

    def __init__(
        self,
        name: str,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        registers_per_thread: int,
        **header: Any,
    ) -> None:
        grid = (grid, 1, 1) if isinstance(grid, int) else grid
        block = (block, 1, 1) if isinstance(block, int) else block
        self.header = KernelTrace(name, grid, block, registers_per_thread, form="recorded", **header)
        self.statics: dict[tuple[Instruction, int], int] = {}
        self.unplaced: dict[Instruction, int] = {}
        self.counts: list[int] = []
        self.variants: dict[tuple[int, int], int] = {}
        self.kinds: dict[str, dict[tuple[int, ...], int]] = {kind: {} for kind in KINDS}
        self.pages: list[RecordingPage] = []
        self.page = Page()
        self.block = -1
        self.seen: set[int] = set()
        self.warps: dict[int, tuple[list[int], list[Access]]] = {}
        self.current: tuple[list[int], list[Access]] = ([], [])

    def instruction(self, instruction: Instruction, fetch_address: int = -1, accesses: int = -1) -> int:
        """Add a static instruction (once, if it is already there at that address) and return its index.

        `accesses` is how many lists of addresses it will come with; left out: as its operation says.
        """
        bare = replace(instruction, mask=FULL_MASK, guards=(), address=None, shared_address=None)
        if fetch_address < 0:
            if bare in self.unplaced:
                return self.unplaced[bare]
            fetch_address = INSTRUCTION_BYTES * len(self.statics)
            self.unplaced[bare] = len(self.statics)
        if accesses < 0:
            reads_memory = is_memory(bare.operation) and bare.operation is not Operation.LDC
            accesses = 2 if bare.operation is Operation.LDGSTS else int(reads_memory)
        key = (bare, fetch_address)
        if key not in self.statics:
            self.statics[key] = len(self.statics)
            self.counts.append(accesses)
        return self.statics[key]

    def warp(self, block: int, warp: int) -> None:
        """Begin the record of one warp."""
        if block != self.block:
            self.finish_block()
            if block in self.seen or not 0 <= block < self.header.blocks:
                raise InputError(
                    f"{self.header.name}, block {block}",
                    "begun twice"
                    if block in self.seen
                    else f"outside the grid of {self.header.blocks} blocks",
                    "record each block of the grid once, all its warps together",
                )
            self.block = block
            self.seen.add(block)
        if warp in self.warps or not 0 <= warp < self.header.warps_per_block:
            raise InputError(
                f"{self.header.name}, block {block}, warp {warp}",
                "recorded twice"
                if warp in self.warps
                else f"outside the block of {self.header.warps_per_block} warps",
                "record each warp of a block once",
            )
        self.current = self.warps[warp] = ([], [])

    def issue(
        self,
        static: int,
        mask: int = FULL_MASK,
        addresses: Sequence[int] | None = None,
        shared_addresses: Sequence[int] | None = None,
    ) -> None:
        """Record one dynamic instruction; the addresses of its 32 lanes where it accesses memory."""
        given = [lanes for lanes in (addresses, shared_addresses) if lanes is not None]
        if len(given) != self.counts[static] or any(len(lanes) != LANES for lanes in given):
            raise InputError(
                f"{self.header.name}, block {self.block}, instruction {static}",
                f"{len(given)} lists of addresses given",
                f"give {self.counts[static]}, of {LANES} lanes each",
            )
        key = (static, mask)
        self.current[0].append(self.variants.setdefault(key, len(self.variants)))
        self.current[1].extend(encode(lanes, mask) for lanes in given)

    def finish_block(self) -> None:
        """Close the block at hand; a page that is full is closed with it."""
        if self.block < 0:
            return
        page = self.page
        page.blocks.append(self.block)
        for warp in range(self.header.warps_per_block):
            if warp not in self.warps:
                raise InputError(
                    f"{self.header.name}, block {self.block}",
                    f"warp {warp} is missing",
                    "record all its warps",
                )
            variants, accesses = self.warps[warp]
            page.variants += variants
            for base, kind, pattern in accesses:
                numbers = self.kinds[kind]
                page.bases.append(base)
                page.pattern_ids.append(KINDS.index(kind) + 3 * numbers.setdefault(pattern, len(numbers)))
            page.instruction_starts.append(len(page.variants))
            page.access_starts.append(len(page.bases))
        self.warps = {}
        self.block = -1
        if len(page.variants) >= PAGE_INSTRUCTIONS:
            self.pages.append(page.packed())
            self.page = Page()

    def build(self) -> KernelTrace:
        """The finished trace; every block of the grid must have been recorded."""
        self.finish_block()
        if len(self.seen) != self.header.blocks:
            raise InputError(
                self.header.name,
                f"{len(self.seen)} of {self.header.blocks} blocks are recorded",
                "record the rest or give a smaller grid",
            )
        pages = [*self.pages, self.page.packed()] if self.page.blocks else self.pages
        strides, deltas = len(self.kinds["stride"]), len(self.kinds["delta"])
        firsts = np.array([0, strides, strides + deltas])
        recording = Recording(
            tuple(instruction for instruction, _ in self.statics),
            tuple(fetch_address for _, fetch_address in self.statics),
            tuple(self.counts),
            np.array([static for static, _ in self.variants], dtype="<i4"),
            np.array([mask for _, mask in self.variants], dtype="<u4"),
            np.array([stride for (stride,) in self.kinds["stride"]], dtype="<i8"),
            np.array(list(self.kinds["delta"]), dtype="<i4").reshape(-1, LANES),
            np.array(list(self.kinds["list"]), dtype="<i8").reshape(-1, LANES),
            tuple(renumbered(page, firsts) for page in pages),
        )
        return replace(self.header, recording=recording)


def renumbered(page: RecordingPage, firsts: NDArray[np.int64]) -> RecordingPage:
    """The page with pattern ids in the final numbering: strides, then deltas, then lists."""
    ids = page.pattern_ids.astype("<i8")
    return replace(page, pattern_ids=smallest(firsts[ids % 3] + ids // 3))

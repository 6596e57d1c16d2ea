"""One kernel's trace file to a recorded KernelTrace, in one pass and bounded memory.

Reads the frame around the instruction lines (blocks, warps, counts), checks that every block and warp of the
launch is there once and ends with EXIT in all its lanes, and collects pages. Blocks keep the numbers that the
file prints and are dispatched in that order, whatever the order of the file.
"""

import re
from array import array
from pathlib import Path

import numpy as np

from hwmodels.operations import Operation
from simulator.trace.accelsim.body import WarpReader
from simulator.trace.accelsim.header import KernelHeader, read_header
from simulator.trace.accelsim.pages import PAGE_INSTRUCTIONS, BlockPlaces, PageStore, StoredPages
from simulator.trace.accelsim.patterns import PatternCache
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.accelsim.spill import Spill
from simulator.trace.accelsim.statics import StaticTable
from simulator.trace.recording import Recording
from simulator.trace.recording_builder import Page
from simulator.trace.schema import FULL_MASK, KernelTrace

BEGIN, END = b"#BEGIN_TB", b"#END_TB"
PLACE = re.compile(rb"thread block\s*=\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})")
WARP = re.compile(rb"warp\s*=\s*(\d{1,10})")
COUNT = re.compile(rb"insts\s*=\s*(\d{1,12})")
MAX_BLOCKS = 1 << 26
NOTE = "note"
"""Key of a trace's meta: a sentence on what its replay leaves out."""
Warps = dict[int, tuple[list[int], list[int], list[int]]]


class KernelReader:
    """Reads the file of one kernel; `read` gives the trace, `notes` what the replay leaves out."""

    def __init__(
        self,
        path: Path,
        fallback: Operation | None = None,
        stream: int | None = None,
        spill: Spill | None = None,
    ) -> None:
        self.path = path
        self.fallback = fallback
        self.stream = stream
        self.spill = spill or Spill()
        self.notes: tuple[str, ...] = ()

    def read(self) -> KernelTrace:
        """The trace of the whole file; an InputError names the line of the first thing that is wrong."""
        with Source(self.path) as source:
            header = read_header(source)
            return self._body(source, header)

    def _body(self, source: Source, header: KernelHeader) -> KernelTrace:
        launch = KernelTrace(header.name, header.grid, header.block, header.registers)
        if launch.blocks > MAX_BLOCKS:
            source.refuse(f"a grid of {launch.blocks} blocks", f"{MAX_BLOCKS} at most can be recorded")
        statics = StaticTable(str(self.path))
        reader = WarpReader(source, header, self.fallback, statics)
        store, page = PageStore(self.spill), Page()
        order, starts = array("q"), array("q", [0])
        seen = bytearray()
        while text := source.content():
            if text != BEGIN:
                source.refuse(f"{shown(text)} where a block must begin", f"write {BEGIN.decode()}")
            x, y, z = self._place(source, launch)
            number = x + header.grid[0] * (y + header.grid[1] * z)
            if number >= len(seen):
                seen.extend(bytes(min(launch.blocks, 2 * number + 1024) - len(seen)))
            if seen[number]:
                source.refuse(f"block {x},{y},{z} is in the file twice", "give each block once")
            seen[number] = 1
            order.append(number)
            self._block(source, reader, launch, (x, y, z), page)
            page.blocks.append(number)
            if len(page.variants) >= PAGE_INSTRUCTIONS:
                store.add(page.packed())
                starts.append(len(order))
                page = Page()
        if len(order) < launch.blocks:
            missing = seen.find(0) if seen.find(0) >= 0 else len(seen)
            x, y, z = launch.block_index(missing)
            source.refuse(
                f"the file ends with {len(order)} of {launch.blocks} blocks; {x},{y},{z} is missing",
                "trace the whole launch or correct -grid dim",
            )
        if page.blocks:
            store.add(page.packed())
        self.notes = tuple(sorted(reader.decoder.notes))
        return self._trace(header, statics, store, BlockPlaces(order, starts))

    @staticmethod
    def _place(source: Source, launch: KernelTrace) -> tuple[int, int, int]:
        text = source.content()
        match = PLACE.fullmatch(text)
        if not match:
            source.refuse(f"{shown(text)} after {BEGIN.decode()}", "write thread block = x,y,z")
        x, y, z = (int(part) for part in match.groups())
        if not (x < launch.grid[0] and y < launch.grid[1] and z < launch.grid[2]):
            source.refuse(f"block {x},{y},{z} is outside the grid {launch.grid}", "correct it or -grid dim")
        return x, y, z

    @staticmethod
    def _block(
        source: Source, reader: WarpReader, launch: KernelTrace, place: tuple[int, int, int], page: Page
    ) -> None:
        """The warps of a block, in any order, into the page in their own."""
        warps: Warps = {}
        name = ",".join(map(str, place))
        text = source.content()
        while text != END:
            match = WARP.fullmatch(text)
            if not match:
                what = shown(text) if text else "the end of the file"
                source.refuse(f"{what} in block {name}", f"write warp = <number>, or {END.decode()}")
            warp = int(match[1])
            if warp in warps or warp >= launch.warps_per_block:
                source.refuse(
                    f"warp {warp} {'again' if warp in warps else 'is outside the block'}",
                    f"{launch.threads_per_block} threads are warps 0 to {launch.warps_per_block - 1}",
                )
            text = source.content()
            match = COUNT.fullmatch(text)
            if not match:
                source.refuse(f"{shown(text)} after warp = {warp}", "write insts = <number of lines>")
            reader.read(int(match[1]), (*place, warp))
            warps[warp] = (reader.variants, reader.bases, reader.patterns)
            last = source.number
            text = source.content()
            if text and text != END and not WARP.fullmatch(text):
                source.refuse(
                    f"{shown(text)} after the {int(match[1])} instructions of warp {warp}", "correct `insts`"
                )
            check_lanes(source, reader, launch, warp, last)
        for warp in range(launch.warps_per_block):
            if warp not in warps:
                source.refuse(f"block {name} ends without warp {warp}", "give all its warps")
            variants, bases, patterns = warps[warp]
            page.variants += variants
            page.bases += bases
            page.pattern_ids += patterns
            page.instruction_starts.append(len(page.variants))
            page.access_starts.append(len(page.bases))

    def _trace(
        self, header: KernelHeader, statics: StaticTable, store: PageStore, places: BlockPlaces
    ) -> KernelTrace:
        ordered, variant_statics = statics.order()
        settlement = statics.settlement(header)
        strides, deltas, lists = (
            statics.tables[kind].rows(self.spill) for kind in ("stride", "delta", "list")
        )
        recording = Recording(
            tuple(instruction for instruction, _ in ordered),
            tuple(pc for _, pc in ordered),
            tuple(statics.accesses_of(instruction) for instruction, _ in ordered),
            variant_statics,
            np.array(statics.masks, dtype="<u4"),
            strides,
            deltas,
            lists,
            StoredPages(store, settlement),
        )
        recording.derived["places"] = places
        recording.derived["patterns"] = PatternCache(strides, deltas, lists)
        barriers = [one.count for one, _ in ordered if one.operation is Operation.BARRIER]
        return KernelTrace(
            header.name,
            header.grid,
            header.block,
            header.registers,
            shared_bytes_per_block=header.shared_bytes,
            local_bytes_per_thread=statics.local_window()[1],
            barriers=1 + max(barriers) if barriers else 0,
            stream=header.stream if self.stream is None else self.stream,
            form="recorded",
            recording=recording,
            meta=(
                ("source", "accel-sim"),
                ("binary_version", str(header.binary_version)),
                *((NOTE, note) for note in self.notes),
            ),
        )


def check_lanes(source: Source, reader: WarpReader, launch: KernelTrace, warp: int, last: int) -> None:
    """Every launched lane must end with EXIT, over all EXITs of the warp, and no other lane may be active."""
    launched = launch.launched_mask(warp)
    used = set(reader.variants)
    left = 0
    for variant in used & reader.statics.exits.keys():
        left |= reader.statics.exits[variant]
    if launched & ~left:
        source.refuse(
            f"warp {warp} ends without EXIT in lanes {launched & ~left:08x}",
            "end every launched lane with EXIT, in one or several lines",
            number=last,
        )
    if launched != FULL_MASK:
        for variant in used:
            beyond = reader.statics.masks[variant] & ~launched
            if beyond:
                source.refuse(
                    f"warp {warp} has lanes {beyond:08x} active that were not launched",
                    "correct the mask or -block dim",
                    number=last,
                )

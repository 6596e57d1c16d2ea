"""The walk over a recorded warp, with the same face as the walk over a generated program.

Masks and addresses come from the recording, so guards and loops play no part. The page is read through
memory views, which give plain integers without a copy.
"""

from collections.abc import Sequence

from simulator.trace.compiled_expression import Offsets
from simulator.trace.cursor import ENDED, WarpCursor
from simulator.trace.schema import KernelTrace


class RecordedCursor(WarpCursor):
    """A walk over the recorded instructions of one warp of one block."""

    __slots__ = (
        "block",
        "end",
        "masks",
        "patterns",
        "position",
        "record",
        "recording",
        "statics",
        "variants",
        "view_bases",
        "view_patterns",
        "warp",
        "warps",
    )

    def __init__(self, trace: KernelTrace, block: int, warp: int) -> None:
        assert trace.recording is not None, "a recorded cursor walks a recording"
        self.recording = trace.recording
        self.flat = trace.flat()
        self.launched = trace.launched_mask(warp)
        self.exited = 0
        self.warps = trace.warps_per_block
        self.patterns = trace.recording.patterns()
        self.statics = trace.recording.variant_statics.data
        self.masks = trace.recording.variant_masks.data
        self._open(block, warp)
        self._settle()

    def _open(self, block: int, warp: int) -> None:
        number, place = self.recording.place_of(block)
        page = self.recording.pages[number]
        row = place * self.warps + warp
        self.block, self.warp = block, warp
        self.position = int(page.instruction_starts[row])
        self.end = int(page.instruction_starts[row + 1])
        self.record = int(page.access_starts[row])
        self.variants = page.variants.data
        self.view_bases = page.bases.data
        self.view_patterns = page.pattern_ids.data

    def _settle(self) -> None:
        self.static = self.statics[self.variants[self.position]] if self.position < self.end else ENDED

    def mask(self) -> int:
        """The lanes of the next instruction, as recorded."""
        return self.masks[self.variants[self.position]]

    def access(self) -> tuple[int, Offsets]:
        """(base, offsets): lane i of the next instruction accesses byte base + offsets[i] if active."""
        return self.view_bases[self.record], self.patterns[self.view_patterns[self.record]]

    def shared_access(self) -> tuple[int, Offsets]:
        """The same for the shared-memory side of LDGSTS, whose record follows the global one."""
        return self.view_bases[self.record + 1], self.patterns[self.view_patterns[self.record + 1]]

    def advance(self) -> None:
        """Go on to the next recorded instruction."""
        self.record += self.flat.accesses[self.static]
        self.position += 1
        self._settle()

    def dump(self) -> list[int]:
        """Everything that moves, for a checkpoint."""
        return [self.block, self.warp, self.position, self.record, self.exited]

    def restore(self, state: Sequence[int]) -> None:
        """Stand where `dump` stood; block and warp are part of it."""
        self._open(state[0], state[1])
        self.position, self.record, self.exited = state[2:]
        self._settle()

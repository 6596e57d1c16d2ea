"""Accesses to memory that need more than bounds: generic ones, lists, local memory, asynchronous copies.

Tracers write an asynchronous copy as two lines of one PC, its shared side first; they become one instruction
with two records. One without a line for its shared side is taken to fill consecutive rows without bank
conflicts. What is refused here: lanes in several spaces, out of bounds, misaligned, and addresses that are
not as many as the mask says.
"""

from typing import NoReturn

from hwmodels.operations import Operation, Space, space_of
from simulator.trace.accelsim.addresses import LIST, AddressError, Shape, numbers, offsets_of, shape_of
from simulator.trace.accelsim.header import WITH_IMMEDIATE, KernelHeader
from simulator.trace.accelsim.instruction import Head
from simulator.trace.accelsim.source import Source
from simulator.trace.accelsim.spaces import SPECIAL, WINDOW_BYTES, Windows
from simulator.trace.accelsim.statics import StaticTable
from simulator.trace.schema import ADDRESS_LIMIT, LANES


class AccessReader:
    """Appends instructions with addresses to the warp at hand: `variants`, `bases` and `patterns`."""

    def __init__(self, source: Source, header: KernelHeader, statics: StaticTable) -> None:
        self.source = source
        self.header = header
        self.statics = statics
        self.windows = Windows(header.shared_base, header.local_base)
        self.shared_limit = header.shared_bytes + header.architecture.reserved_shared_bytes
        self.immediate = header.tracer_version >= WITH_IMMEDIATE
        self.variants: list[int] = []
        self.bases: list[int] = []
        self.patterns: list[int] = []
        self.copy: tuple[Head, int, int, Space] | None = None
        """An LDGSTS that may get its second line: head, where it stands, its first record, space given."""

    def begin(self) -> None:
        """Forget the warp before."""
        self.variants, self.bases, self.patterns = [], [], []
        self.copy = None

    def take_immediate(self, words: list[bytes]) -> int:
        """Take the last word as the immediate."""
        if not words:
            self.source.refuse("the line has no immediate", "tracers of version 5 end each line with one")
        try:
            return numbers([words.pop()])[0]
        except AddressError as error:
            self.source.refuse(*error.args)

    def access(self, head: Head, words: list[bytes]) -> None:
        """An access in any mode and space."""
        if self.immediate:
            self.take_immediate(words)
        try:
            if head.mode == LIST:
                if len(words) != len(head.lanes):
                    raise AddressError(
                        f"{len(words)} addresses for {len(head.lanes)} active lanes",
                        "give one for each set bit of the mask",
                    )
                listed = numbers(words, 16)
                base_text = words[0] if words else b"0x0"
                offsets = [address - listed[0] for address in listed]
            else:
                if not words:
                    raise AddressError("the line has no base address", "give one after the mode")
                base_text = words[0]
                offsets = offsets_of(head.mode, head.lanes, words[1:])
        except AddressError as error:
            self.source.refuse(*error.args)
        base = self.number(base_text)
        shape = shape_of(offsets, head.lanes, head.mask)
        if head.instruction.bytes_per_lane == 0:
            self.variants.append(head.variant)
            return
        if head.instruction.operation is Operation.LDGSTS:
            self._async(head, base, shape)
            return
        space, variant = self._space(head, base, shape)
        base = self.based(base, space)
        self.judge(head, base, shape, space)
        self.variants.append(variant)
        self.bases.append(base + shape.shift)
        self.patterns.append(self.statics.pattern(shape))
        self.statics.used(space, base, shape, head.instruction.bytes_per_lane)

    def _space(self, head: Head, base: int, shape: Shape) -> tuple[Space, int]:
        """Space and variant of an access; a generic one is told by its addresses."""
        operation = head.instruction.operation
        if operation not in SPECIAL:
            return space_of(operation), head.variant
        width = head.instruction.bytes_per_lane
        space = (
            self.windows.classify(base + shape.low, base + shape.high + width) if head.lanes else Space.GLOBAL
        )
        kepler = self.header.architecture.name == "kepler"
        if not self.windows.known and operation in {Operation.LD, Operation.ST} and head.lanes and not kepler:
            self.source.refuse(
                f"{head.opcode.name} has generic addresses, but the header does not tell them apart",
                "give -shmem base_addr and -local mem base_addr",
            )
        if space is None or space not in SPECIAL[operation]:
            self.source.refuse(
                f"{head.opcode.name}: its lanes are in {'several spaces' if space is None else space.name}",
                "generic accesses of one space can be replayed, atomics in global or shared memory",
            )
        if space not in head.by_space:
            head.by_space[space] = self.statics.generic(head, SPECIAL[operation][space])
        return space, head.by_space[space]

    def based(self, address: int, space: Space) -> int:
        """An address in a window as the offset from its base, wherever the trace counted from."""
        base = self.windows.base(space)
        return address - base if base and base <= address < base + WINDOW_BYTES else address

    def _async(self, head: Head, base: int, shape: Shape) -> None:
        """A line of an asynchronous copy: tracers write one for its shared and one for its global side."""
        before = self.copy
        follows = before is not None and before[0] is head and before[1] == len(self.variants)
        in_window = self.based(base, Space.SHARED)
        width = head.instruction.bytes_per_lane
        low = in_window + shape.high + width <= self.shared_limit
        space = Space.SHARED if low or in_window != base else Space.GLOBAL
        if follows and before is not None and before[3] is Space.SHARED:
            space = Space.GLOBAL  # the shared side is there already
        address = in_window if space is Space.SHARED else base
        self.judge(head, address, shape, space)
        if before is None or not follows or before[3] is space:
            self.end_copy()
            self.variants.append(head.variant)
            record = len(self.bases)
            fits = LANES * width <= self.header.shared_bytes
            self.bases += [0, 0]
            self.patterns += [self.statics.zero, self.statics.stride(width if fits else 0)]
            self.copy = (head, len(self.variants), record, space)
        else:
            record = before[2]
            self.copy = None
        at = record + (space is Space.SHARED)
        self.bases[at] = address + shape.shift
        self.patterns[at] = self.statics.pattern(shape)
        self.statics.used(space, address, shape, width)

    def end_copy(self) -> None:
        """A copy without its global line is none; without its shared line it fills rows without conflict."""
        if self.copy is not None and self.copy[3] is Space.SHARED:
            self.source.refuse(
                f"LDGSTS at PC {self.copy[0].pc:#06x} has a shared address only",
                "give its line with the global addresses next to it",
            )
        self.copy = None

    def number(self, text: bytes) -> int:
        """A base address."""
        try:
            return numbers([text], 16)[0]
        except AddressError as error:
            self.source.refuse(*error.args)

    def judge(self, head: Head, base: int, shape: Shape, space: Space) -> None:
        """Refuse an access with a lane that is out of bounds or misaligned."""
        width = head.instruction.bytes_per_lane
        end = {Space.SHARED: self.shared_limit, Space.LOCAL: WINDOW_BYTES}.get(space, ADDRESS_LIMIT)
        if base + shape.low < 0 or base + shape.high + width > end:
            self._outside(head, base + shape.high, space, end)
        if (base | shape.alignment) & (width - 1):
            self.source.refuse(
                f"{head.opcode.name} of {width} bytes a lane at {base:#x} is misaligned",
                f"every active lane's address must be a multiple of {width}",
            )

    def _outside(self, head: Head, address: int, space: Space, end: int) -> NoReturn:
        remedy = "correct the address"
        if space is Space.SHARED:
            remedy = f"correct the address or -shmem = {self.header.shared_bytes}"
        self.source.refuse(
            f"{head.opcode.name} reaches {address:#x}, beyond the {end} bytes of {space.name.lower()} memory",
            remedy,
        )

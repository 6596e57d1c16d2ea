"""The instruction lines of a warp: the inner loop of the reader.

A line without addresses is found whole in a dictionary; one with addresses by what comes before its base,
and its offsets by what comes after. So the many warps of a kernel cost little more than finding their lines;
only what is new is taken apart. Every access is judged for bounds and alignment as it passes.
"""

from dataclasses import replace
from typing import NoReturn

from hwmodels.operations import Operation, Space, space_of
from simulator.trace.accelsim.addresses import (
    LIST,
    AddressError,
    Shape,
    numbers,
    offsets_of,
    shape_of,
)
from simulator.trace.accelsim.header import WITH_IMMEDIATE, WITHOUT_PLACES, KernelHeader
from simulator.trace.accelsim.instruction import Decoder, Head
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.accelsim.spaces import SPECIAL, WINDOW_BYTES, Windows
from simulator.trace.accelsim.statics import StaticTable
from simulator.trace.schema import ADDRESS_LIMIT, LANES

REMEMBERED_LINES = 1 << 17
REMEMBERED_SHAPES = 1 << 14
MARKS = (b"warp", b"#END", b"#BEG", b"inst", b"thre")


class WarpReader:
    """Reads warps one after the other into `variants`, `bases` and `patterns`."""

    def __init__(
        self, source: Source, header: KernelHeader, fallback: Operation | None, statics: StaticTable
    ) -> None:
        self.source = source
        self.header = header
        self.decoder = Decoder(source, header, fallback)
        self.statics = statics
        self.windows = Windows(header.shared_base, header.local_base)
        self.shared_limit = header.shared_bytes + header.architecture.reserved_shared_bytes
        self.immediate = header.tracer_version >= WITH_IMMEDIATE
        self.with_places = header.tracer_version < WITHOUT_PLACES
        self.plain: dict[bytes, int] = {}
        self.heads: dict[bytes, Head] = {}
        self.remembered = 0
        self.variants: list[int] = []
        self.bases: list[int] = []
        self.patterns: list[int] = []
        self.copy: tuple[Head, int, int, Space] | None = None
        """An LDGSTS that may get its second line: head, where it stands, its first record, space given."""

    def read(self, count: int, place: tuple[int, int, int, int]) -> None:
        """Read the `count` lines of a warp; `place` is block (x, y, z) and warp."""
        self.variants, self.bases, self.patterns = [], [], []
        self.copy = None
        source, plain, heads = self.source, self.plain, self.heads
        prefix = b"%d %d %d %d " % place if self.with_places else b""
        read = 0
        while read < count:
            line = source.line()
            if prefix:
                line = self._without_place(line, prefix)
            variant = plain.get(line)
            if variant is not None:
                self.variants.append(variant)
                read += 1
                continue
            cut = line.find(b" 0x")
            head = heads.get(line[:cut]) if cut > 0 else None
            if head is not None and head.direct:
                self._direct(head, line[cut + 1 :])
                read += 1
            elif head is not None:
                self._access(head, line[cut + 1 :].split())
                read += 1
            elif line.isspace():
                continue
            else:
                self._slow(line, read, count)
                read += 1
        self._end_copy()

    def _without_place(self, line: bytes, prefix: bytes) -> bytes:
        if line.startswith(prefix):
            return line[len(prefix) :]
        words = line.split(None, 4)
        if not words or words[0][:4] in MARKS:
            return line
        if words[:4] != prefix.split():
            self.source.refuse(
                f"the line is of block and warp {shown(b' '.join(words[:4]))}",
                f"tracers before version 3 repeat the place: {prefix.decode().strip()}",
            )
        return words[4] if len(words) > 4 else b""

    def _direct(self, head: Head, text: bytes) -> None:
        """An access to global or shared memory, as base and offsets."""
        base_text, _, rest = text.partition(b" ")
        found = head.shapes.get(rest)
        if found is None:
            found = self._new_shape(head, rest)
        shape, pattern = found
        try:
            base = int(base_text, 16)
        except ValueError:
            base = -1
        low = base + shape.low
        width = head.instruction.bytes_per_lane
        if low < 0 or base + shape.high + width > head.limit or (base | shape.alignment) & (width - 1):
            space = space_of(head.instruction.operation)
            base = self._based(self._number(base_text), space)
            self._judge(head, base, shape, space)
            self.statics.used(space, base, shape, width)
        elif low < head.lowest:
            head.lowest = low
            self.statics.used(space_of(head.instruction.operation), base, shape, width)
        self.variants.append(head.variant)
        self.bases.append(base + shape.shift)
        self.patterns.append(pattern)

    def _new_shape(self, head: Head, rest: bytes) -> tuple[Shape, int]:
        """The shape of what follows a base, and the number of its pattern."""
        if self.remembered >= REMEMBERED_SHAPES:
            for one in self.heads.values():
                one.shapes.clear()
            self.remembered = 0
        words = rest.split()
        if self.immediate:
            self._check_immediate(words)
        try:
            offsets = offsets_of(head.mode, head.lanes, words)
        except AddressError as error:
            self.source.refuse(*error.args)
        shape = shape_of(offsets, head.lanes, head.mask)
        found = (shape, self.statics.pattern(shape))
        head.shapes[rest] = found
        self.remembered += 1
        return found

    def _check_immediate(self, words: list[bytes]) -> int:
        """Take the last word as the immediate."""
        if not words:
            self.source.refuse("the line has no immediate", "tracers of version 5 end each line with one")
        try:
            return numbers([words.pop()])[0]
        except AddressError as error:
            self.source.refuse(*error.args)

    def _slow(self, line: bytes, read: int, count: int) -> None:
        """A line that is new, or whose addresses need more than bounds."""
        words = line.split()
        if not words or words[0][:4] in MARKS:
            what = "the file ends" if not line else f"{shown(words[0])} comes"
            self.source.refuse(f"{what} after {read} of {count} instructions", "correct `insts` or the lines")
        head, taken = self.decoder.decode(words)
        key = b" ".join(words[:taken])
        rest = words[taken:]
        if head.mode < 0:
            immediate = self._check_immediate(rest) if self.immediate else None
            if rest:
                self.source.refuse(
                    f"{shown(rest[0])} is left over", "end the line after the memory width or immediate"
                )
            if immediate is not None or head.instruction.operation is Operation.ASYNC_WAIT:
                head.instruction = self.decoder.with_immediate(head, immediate)
            self._plain(line, head)
            return
        known = self.heads.get(key)
        if known is None:
            if len(self.heads) >= REMEMBERED_LINES:
                self.heads.clear()
            known = self.heads[key] = head
            self._prepare(head)
        self._access(known, rest)

    def _plain(self, line: bytes, head: Head) -> None:
        instruction = head.instruction
        if instruction.operation in SPECIAL:
            head.instruction = replace(instruction, operation=SPECIAL[instruction.operation][Space.GLOBAL])
        accesses = self.statics.accesses_of(head.instruction)
        variant = self.statics.variant(head.instruction, head.pc, head.mask)
        self.variants.append(variant)
        self.bases += [0] * accesses
        self.patterns += [self.statics.zero] * accesses
        if not accesses:
            if len(self.plain) >= REMEMBERED_LINES:
                self.plain.clear()
            self.plain[line] = variant

    def _prepare(self, head: Head) -> None:
        operation = head.instruction.operation
        space = space_of(operation)
        head.limit = self.header.shared_bytes if space is Space.SHARED else ADDRESS_LIMIT
        if operation not in SPECIAL:
            head.variant = self.statics.variant(head.instruction, head.pc, head.mask)

    def _access(self, head: Head, words: list[bytes]) -> None:
        """An access in any mode and space."""
        if self.immediate:
            self._check_immediate(words)
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
        base = self._number(base_text)
        shape = shape_of(offsets, head.lanes, head.mask)
        if head.instruction.bytes_per_lane == 0:
            self.variants.append(head.variant)
            return
        if head.instruction.operation is Operation.LDGSTS:
            self._async(head, base, shape)
            return
        space, variant = self._space(head, base, shape)
        base = self._based(base, space)
        self._judge(head, base, shape, space)
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

    def _based(self, address: int, space: Space) -> int:
        """An address in a window as the offset from its base, wherever the trace counted from."""
        base = self.windows.base(space)
        return address - base if base and base <= address < base + WINDOW_BYTES else address

    def _async(self, head: Head, base: int, shape: Shape) -> None:
        """A line of an asynchronous copy: tracers write one for its shared and one for its global side."""
        before = self.copy
        follows = before is not None and before[0] is head and before[1] == len(self.variants)
        in_window = self._based(base, Space.SHARED)
        width = head.instruction.bytes_per_lane
        low = in_window + shape.high + width <= self.shared_limit
        space = Space.SHARED if low or in_window != base else Space.GLOBAL
        if follows and before is not None and before[3] is Space.SHARED:
            space = Space.GLOBAL  # the shared side is there already
        address = in_window if space is Space.SHARED else base
        self._judge(head, address, shape, space)
        if before is None or not follows or before[3] is space:
            self._end_copy()
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

    def _end_copy(self) -> None:
        """A copy without its global line is none; without its shared line it fills rows without conflict."""
        if self.copy is not None and self.copy[3] is Space.SHARED:
            self.source.refuse(
                f"LDGSTS at PC {self.copy[0].pc:#06x} has a shared address only",
                "give its line with the global addresses next to it",
            )
        self.copy = None

    def _number(self, text: bytes) -> int:
        """A base address."""
        try:
            return numbers([text], 16)[0]
        except AddressError as error:
            self.source.refuse(*error.args)

    def _judge(self, head: Head, base: int, shape: Shape, space: Space) -> None:
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

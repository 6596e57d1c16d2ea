"""The instruction lines of a warp: the inner loop of the reader.

A line without addresses is found whole in a dictionary; one with addresses by what comes before its base,
and its offsets by what comes after. So the many warps of a kernel cost little more than finding their lines;
only what is new is taken apart. Every access is judged for bounds and alignment as it passes.
"""

from dataclasses import replace

from hwmodels.operations import Operation, Space, space_of
from simulator.trace.accelsim.access import AccessReader
from simulator.trace.accelsim.addresses import AddressError, Shape, offsets_of, shape_of
from simulator.trace.accelsim.header import WITHOUT_PLACES, KernelHeader
from simulator.trace.accelsim.instruction import Decoder, Head
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.accelsim.spaces import SPECIAL
from simulator.trace.accelsim.statics import StaticTable
from simulator.trace.schema import ADDRESS_LIMIT

REMEMBERED_LINES = 1 << 17
REMEMBERED_SHAPES = 1 << 14
MARKS = (b"warp", b"#END", b"#BEG", b"inst", b"thre")


class WarpReader(AccessReader):
    """Reads warps one after the other into `variants`, `bases` and `patterns`."""

    def __init__(
        self, source: Source, header: KernelHeader, fallback: Operation | None, statics: StaticTable
    ) -> None:
        super().__init__(source, header, statics)
        self.decoder = Decoder(source, header, fallback)
        self.with_places = header.tracer_version < WITHOUT_PLACES
        self.plain: dict[bytes, int] = {}
        self.heads: dict[bytes, Head] = {}
        self.remembered = 0

    def read(self, count: int, place: tuple[int, int, int, int]) -> None:
        """Read the `count` lines of a warp; `place` is block (x, y, z) and warp."""
        self.begin()
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
                self.access(head, line[cut + 1 :].split())
                read += 1
            elif line.isspace():
                continue
            else:
                self._slow(line, read, count)
                read += 1
        self.end_copy()

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
            base = int(base_text, 16) if b"_" not in base_text else -1
        except ValueError:
            base = -1
        low = base + shape.low
        width = head.instruction.bytes_per_lane
        if low < 0 or base + shape.high + width > head.limit or (base | shape.alignment) & (width - 1):
            space = space_of(head.instruction.operation)
            base = self.based(self.number(base_text), space)
            self.judge(head, base, shape, space)
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
            self.take_immediate(words)
        try:
            offsets = offsets_of(head.mode, head.lanes, words)
        except AddressError as error:
            self.source.refuse(*error.args)
        shape = shape_of(offsets, head.lanes, head.mask)
        found = (shape, self.statics.pattern(shape))
        head.shapes[rest] = found
        self.remembered += 1
        return found

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
            immediate = self.take_immediate(rest) if self.immediate else None
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
        self.access(known, rest)

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

"""One instruction line up to its addresses: PC, mask, registers and opcode, checked against the table of the
architecture.

`[line] PC mask ndst [Rd] OPCODE nsrc [Rs ...] memwidth [mode addresses] [immediate]`. The width in the line
only says that there are addresses; the true one comes from the mnemonic. Each distinct head is decoded once
and then found by its bytes.
"""

from dataclasses import dataclass, field, replace

from hwmodels.errors import unknown
from hwmodels.operations import Operation, Space, is_memory, is_tensor, space_of
from simulator.trace import limits
from simulator.trace.accelsim.addresses import LIST, MODES, Shape, lanes_of
from simulator.trace.accelsim.header import KernelHeader
from simulator.trace.accelsim.opcode import ALWAYS, MAYBE, NEVER, Opcode
from simulator.trace.accelsim.operands import bytes_per_lane, cache_operator, matrices, tensor, widen
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.schema import FULL_MASK, LANES, RZ, Instruction

MAX_PC = 16 * limits.MAX_STATIC_INSTRUCTIONS
MAX_SOURCES = 8
ROW_LANES = 8
WITHOUT_EFFECT = (
    Operation.BARRIER,
    Operation.MEMBAR,
    Operation.ASYNC_COMMIT,
    Operation.ASYNC_WAIT,
    Operation.LDGSTS,
)
FORM = "write [line] PC mask ndst [Rd] OPCODE nsrc [Rs ...] memwidth"
RESULT_SECOND = ("SHFL", "ATOM", "ATOMG", "LOP3")
"""Where the first operand can be a predicate, the tracer lists the result as the first source."""


@dataclass(slots=True, eq=False)
class Head:
    """A decoded head. `lanes` are those with addresses, `mask` those that the instruction works for."""

    opcode: Opcode
    pc: int
    mask: int
    lanes: tuple[int, ...]
    instruction: Instruction
    mode: int
    """-1: no addresses."""
    direct: bool
    """Addresses need nothing but bounds: a known space, no second record, no list."""
    limit: int = 0
    lowest: int = 1 << 62
    """The lowest address so far, where that matters."""
    variant: int = -1
    by_space: dict[Space, int] = field(default_factory=dict)
    shapes: dict[bytes, tuple[Shape, int]] = field(default_factory=dict)


class Tokens:
    """The words of a line, taken one by one."""

    def __init__(self, source: Source, words: list[bytes]) -> None:
        self.source = source
        self.words = words
        self.at = 0

    def word(self, what: str) -> bytes:
        """The next word."""
        if self.at >= len(self.words):
            self.source.refuse(f"the line ends before the {what}", FORM)
        self.at += 1
        return self.words[self.at - 1]

    def number(self, what: str, most: int, base: int = 10) -> int:
        """The next word as a number from 0 to `most`."""
        word = self.word(what)
        try:
            value = int(word, base) if len(word) <= 20 and b"_" not in word else -1
        except ValueError:
            value = -1
        if not 0 <= value <= most:
            self.source.refuse(f"{shown(word)} is no {what}", f"{FORM}; a {what} is 0 to {most}")
        return value

    def registers(self, count: int) -> list[int]:
        """The next words as register numbers."""
        found = []
        for _ in range(count):
            word = self.word("register")
            digits = word[1:]
            if word[:1] != b"R" or not digits.isdigit() or len(digits) > 3 or int(digits) > RZ:
                self.source.refuse(f"{shown(word)} is no register", "write R0 to R255, as many as counted")
            found.append(int(digits))
        return found


class Decoder:
    """Decodes heads for one kernel. `fallback` is the class of unknown opcodes, None to refuse them."""

    def __init__(self, source: Source, header: KernelHeader, fallback: Operation | None = None) -> None:
        self.source = source
        self.header = header
        self.opcodes = header.architecture.opcodes
        self.fallback = fallback
        self.notes: set[str] = set()

    def decode(self, words: list[bytes]) -> tuple[Head, int]:
        """The head of a line's words, and how many of them it took."""
        tokens = Tokens(self.source, words)
        if self.header.line_info:
            tokens.number("source line", 1 << 31)
        pc = tokens.number("PC", MAX_PC - 1, 16)
        mask = tokens.number("mask", FULL_MASK, 16)
        dst = tokens.registers(tokens.number("count of destinations (one at most)", 1))
        name = tokens.word("opcode").decode("ascii", "backslashreplace")
        src = tokens.registers(tokens.number("count of sources", MAX_SOURCES))
        has_addresses = tokens.number("memory width", 1 << 12) > 0
        mnemonic, *suffixes = name.split(".")
        opcode = self._opcode(mnemonic, name, has_addresses)
        self._arity(opcode, name, len(dst), len(src))
        mode = -1
        if has_addresses:
            word = tokens.word("address mode")
            if word not in MODES:
                self.source.refuse(
                    f"address mode {shown(word)}", "0 (list), 1 (base + stride) or 2 (base + differences)"
                )
            mode = MODES[word]
        self._has_what_it_needs(opcode, name, mask, has_addresses)
        instruction = self._instruction(opcode, suffixes, mask, dst, src, name)
        if mnemonic in {"LDSM", "STSM"}:
            mask &= (1 << ROW_LANES * matrices(suffixes)) - 1
        direct = (
            mode > LIST
            and space_of(instruction.operation) in {Space.GLOBAL, Space.SHARED}
            and instruction.operation not in {Operation.LDGSTS, Operation.REDG}
            and not opcode.ignores_addresses
        )
        lanes = lanes_of(tokens_mask(words, self.header.line_info))
        return Head(opcode, pc, mask, lanes, instruction, mode, direct), tokens.at

    def _opcode(self, mnemonic: str, name: str, has_addresses: bool) -> Opcode:
        opcode = self.opcodes.get(mnemonic)
        if opcode is not None:
            if opcode.note:
                self.notes.add(f"{opcode.name}: {opcode.note}")
            return opcode
        place = f"{self.source.path}:{self.source.number}"
        if self.fallback is None or not mnemonic:
            kind = f"{self.header.architecture.name} opcode"
            error = unknown(place, kind, name[:40], self.opcodes)
            if self.fallback is None:
                error = type(error)(
                    place, error.problem, f"{error.remedy} or convert it with --unknown-opcodes CLASS"
                )
            raise error
        if is_memory(self.fallback) and not has_addresses:
            self.source.refuse(
                f"{name[:40]!r} has no addresses, but unknown opcodes count as {self.fallback.name}",
                "choose a class without memory access",
            )
        if has_addresses and not is_memory(self.fallback):
            self.notes.add(f"{mnemonic}: an unknown opcode whose addresses are left out")
        self.notes.add(f"{mnemonic}: unknown, counted as {self.fallback.name} as asked")
        return Opcode(mnemonic, self.fallback, MAYBE, 0, MAX_SOURCES, 0, not is_memory(self.fallback))

    def _arity(self, opcode: Opcode, name: str, destinations: int, sources: int) -> None:
        if (opcode.destination == ALWAYS and not destinations) or (
            opcode.destination == NEVER and destinations
        ):
            self.source.refuse(
                f"{name} with {destinations} destination registers",
                f"{opcode.name} has {'one' if opcode.destination == ALWAYS else 'none'}",
            )
        if not opcode.least_sources <= sources <= opcode.most_sources:
            self.source.refuse(
                f"{name} with {sources} source registers",
                f"{opcode.name} has {opcode.least_sources} to {opcode.most_sources}",
            )

    def _has_what_it_needs(self, opcode: Opcode, name: str, mask: int, has_addresses: bool) -> None:
        accesses = is_memory(opcode.operation) and not opcode.ignores_addresses
        if accesses and not has_addresses and mask:
            self.source.refuse(f"{name} has no addresses", "give its width, mode and addresses")
        if has_addresses and not accesses and not opcode.ignores_addresses and opcode.latency_cycles == 0:
            self.source.refuse(f"{name} has addresses, but accesses no memory", "write memory width 0")

    def _instruction(
        self, opcode: Opcode, suffixes: list[str], mask: int, dst: list[int], src: list[int], name: str
    ) -> Instruction:
        operation = opcode.operation
        if is_tensor(operation):
            shape = tensor(opcode.name, suffixes)
            if shape is None:
                self.source.refuse(
                    f"{name} is no shape that is known", "see the shapes of the operation list"
                )
            operation = shape
        if opcode.name == "BAR" and "ARV" in suffixes:
            self.notes.add("BAR.ARV: an arrival that does not wait is left out")
            operation = Operation.NOP
        if not mask and operation in WITHOUT_EFFECT:
            operation = Operation.NOP  # predicated off: issued, but nobody waits or is waited for
        registers = self.header.registers
        for register in (*dst, *src):
            if registers <= register < RZ:
                self.source.refuse(
                    f"R{register} is beyond the {registers} registers a thread (-nregs)",
                    f"correct the register or say -nregs = {register + 1}",
                )
        if not dst and opcode.name in RESULT_SECOND and len(src) > 1:
            dst, src = src[:1], src[1:]
        into, out_of = widen(opcode.name, operation, suffixes, dst, src, registers)
        accesses = is_memory(operation) and not opcode.ignores_addresses
        return Instruction(
            operation,
            into,
            out_of,
            bytes_per_lane=self._width(opcode, suffixes, name) if accesses else 0,
            cache=cache_operator(operation, suffixes),
            latency=opcode.latency_cycles,
        )

    def _width(self, opcode: Opcode, suffixes: list[str], name: str) -> int:
        width = bytes_per_lane(opcode.name, suffixes)
        if width not in limits.BYTES_PER_LANE:
            self.source.refuse(f"{name} accesses {width} bytes a lane", "1, 2, 4, 8 or 16 can be replayed")
        return width

    def with_immediate(self, head: Head, immediate: int | None) -> Instruction:
        """The instruction with what its immediate says: groups that may stay open, or which barrier."""
        instruction = head.instruction
        if instruction.operation is Operation.ASYNC_WAIT:
            if immediate is None:
                self.notes.add(
                    "DEPBAR: tracers before version 5 don't write its count; it waits for all copies"
                )
            elif not 0 <= immediate < LANES * LANES:
                self.source.refuse(f"DEPBAR of {immediate} groups", "give a small count from 0")
            return replace(instruction, count=immediate or 0)
        if instruction.operation is Operation.BARRIER and immediate and 0 < immediate < limits.MAX_BARRIERS:
            return replace(instruction, count=immediate)
        return instruction


def tokens_mask(words: list[bytes], line_info: bool) -> int:
    """The mask of a line as written, before matrix loads narrow it."""
    return int(words[2 if line_info else 1], 16)

"""The tables that the warps of a kernel share: static instructions, variants by mask, patterns, and how far
shared and local memory are used.

Statics are numbered in the order of their PCs at the end, so that the next number is the next instruction
and anything else a taken branch. Two things are known only after the last line: how many bytes of local
memory a thread uses (the tracer's offsets count from the window's base, and stacks grow down from its end),
and whether shared offsets begin behind the kilobyte that the system keeps from sm_80 on.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hwmodels.errors import InputError
from hwmodels.operations import Operation, Space, is_memory, space_of
from simulator.trace import limits
from simulator.trace.accelsim.addresses import STRIDE_FORM, Shape
from simulator.trace.accelsim.header import KernelHeader
from simulator.trace.accelsim.instruction import Head
from simulator.trace.accelsim.pages import Settlement
from simulator.trace.accelsim.patterns import PatternTable
from simulator.trace.recording_builder import KINDS
from simulator.trace.schema import LANES, Instruction

MAX_VARIANTS = 1 << 21
LOCAL_GRANULE_BYTES = 16


@dataclass(slots=True)
class Extent:
    """The bytes of a window that a kernel touches."""

    low: int = 1 << 62
    high: int = 0


@dataclass(slots=True)
class StaticTable:
    """Grows as lines come; `finish` settles it."""

    place: str
    statics: dict[tuple[Instruction, int], int] = field(default_factory=dict)
    variants: dict[tuple[int, int], int] = field(default_factory=dict)
    exits: dict[int, int] = field(default_factory=dict)
    """Mask by variant, of EXITs."""
    masks: list[int] = field(default_factory=list)
    tables: dict[str, PatternTable] = field(
        default_factory=lambda: {
            "stride": PatternTable("<i8", 1),
            "delta": PatternTable("<i4", LANES),
            "list": PatternTable("<i8", LANES),
        }
    )
    shared: Extent = field(default_factory=Extent)
    local: Extent = field(default_factory=Extent)

    @property
    def zero(self) -> int:
        """The pattern of lanes that all have one address."""
        return self.stride(0)

    def stride(self, stride: int) -> int:
        """The pattern of a byte stride."""
        return self._coded("stride", STRIDE_FORM.pack(stride))

    def pattern(self, shape: Shape) -> int:
        """The number of a shape's pattern among all kinds, in the raw numbering of a page."""
        return self._coded(shape.kind, shape.pattern)

    def _coded(self, kind: str, pattern: bytes) -> int:
        return KINDS.index(kind) + len(KINDS) * self.tables[kind].add(pattern)

    @staticmethod
    def accesses_of(instruction: Instruction) -> int:
        """Address records of an instruction."""
        if not is_memory(instruction.operation) or instruction.operation is Operation.LDC:
            return 0
        return 2 if instruction.operation is Operation.LDGSTS else 1

    def variant(self, instruction: Instruction, pc: int, mask: int) -> int:
        """The number of an instruction with a mask."""
        static = self.statics.setdefault((instruction, pc), len(self.statics))
        number = self.variants.setdefault((static, mask), len(self.variants))
        if number == len(self.masks):
            self.masks.append(mask)
            if instruction.operation is Operation.EXIT:
                self.exits[number] = mask
            if len(self.statics) > limits.MAX_STATIC_INSTRUCTIONS or number >= MAX_VARIANTS:
                raise InputError(
                    self.place,
                    f"more than {MAX_VARIANTS} different instructions and masks",
                    "split the trace by block",
                )
        return number

    def generic(self, head: Head, operation: Operation) -> int:
        """The variant of a generic instruction in the space that it turned out to access."""
        return self.variant(replace(head.instruction, operation=operation), head.pc, head.mask)

    def used(self, space: Space, base: int, shape: Shape, width: int) -> None:
        """Note the bytes that an access reaches."""
        extent = self.shared if space is Space.SHARED else self.local if space is Space.LOCAL else None
        if extent is not None:
            extent.low = min(extent.low, base + shape.low)
            extent.high = max(extent.high, base + shape.high + width)

    def local_window(self) -> tuple[int, int]:
        """(first byte, bytes) of the local memory that a thread uses."""
        if not self.local.high:
            return 0, 0
        first = self.local.low // LOCAL_GRANULE_BYTES * LOCAL_GRANULE_BYTES
        size = -(-(self.local.high - first) // LOCAL_GRANULE_BYTES) * LOCAL_GRANULE_BYTES
        if size > limits.MAX_LOCAL_BYTES_PER_THREAD:
            raise InputError(
                self.place,
                f"{size} bytes of local memory a thread",
                f"at most {limits.MAX_LOCAL_BYTES_PER_THREAD}; check the local addresses",
            )
        return first, size

    def shared_first(self, header: KernelHeader) -> int:
        """The first byte of the block's own shared memory as the trace counts."""
        if self.shared.high <= header.shared_bytes:
            return 0
        if self.shared.low < header.architecture.reserved_shared_bytes:
            raise InputError(
                self.place,
                f"shared memory is used from {self.shared.low:#x} to {self.shared.high:#x}",
                f"-shmem = {header.shared_bytes} is too small: correct it or the addresses",
            )
        return header.architecture.reserved_shared_bytes

    def order(self) -> tuple[list[tuple[Instruction, int]], NDArray[np.int32]]:
        """Instructions with their PCs in the order of PCs, and the static number of each variant."""
        ordered = sorted(self.statics, key=lambda one: (one[1], self.statics[one]))
        rank = np.empty(len(ordered), dtype="<i4")
        for position, one in enumerate(ordered):
            rank[self.statics[one]] = position
        return ordered, rank[np.array([static for static, _ in self.variants], dtype="<i8")]

    def settlement(self, header: KernelHeader) -> Settlement:
        """What pages need to become final."""
        instructions = [instruction for instruction, _ in self.statics]
        accesses = np.array([self.accesses_of(one) for one in instructions], dtype="<i8")
        local, shared = self.local_window()[0], self.shared_first(header)
        shifts = np.zeros((len(instructions), 2), dtype="<i8")
        for number, one in enumerate(instructions):
            space = space_of(one.operation)
            shifts[number] = {Space.LOCAL: local, Space.SHARED: shared}.get(space, 0), shared
        strides, deltas = self.tables["stride"].count, self.tables["delta"].count
        by_variant = np.array([static for static, _ in self.variants], dtype="<i8")
        if not len(by_variant):
            by_variant = np.zeros(0, dtype="<i8")
        return Settlement(np.array([0, strides, strides + deltas]), accesses[by_variant], shifts[by_variant])

"""Embedding look-up: one warp an index fetches a row of a table and writes it, a vector of 16 bytes a lane.

The row's address hangs on a value in memory, which a trace does not hold. The kernel therefore states the
pattern that its indices follow, index i reads row (step * i + start) % rows, and its addresses are those of
that pattern; the indices are still loaded, and the interpreter refuses others.
"""

from dataclasses import dataclass
from math import gcd

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Special
from simulator.workload.layout import VECTOR_BYTES

THREADS = 128
LANES = 32
ROWS_A_BLOCK = THREADS // LANES
LOADS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Pattern:
    """Index i reads row (step * i + start) % rows."""

    step: int
    start: int
    rows: int

    @classmethod
    def scattered(cls, rows: int) -> "Pattern":
        """Rows far from one another, each once before any comes twice: a step near the golden section."""
        step = max(1, round(rows * 0.618))
        while gcd(step, rows) > 1:
            step += 1
        return cls(step % rows, 0, rows)

    def values(self, count: int) -> list[int]:
        """The first indices."""
        return [(self.step * index + self.start) % self.rows for index in range(count)]

    def __str__(self) -> str:
        return f"index i reads row ({self.step} * i + {self.start}) % {self.rows}"


@dataclass(frozen=True, slots=True)
class Table:
    """Sizes of a look-up: bytes of a row and of an index, indices."""

    row_bytes: int
    index_bytes: int
    indices: int

    @property
    def width(self) -> int:
        """Bytes of the widest access that divides a row."""
        return gcd(VECTOR_BYTES, self.row_bytes)


def gather_kernel(
    name: str,
    operator: str,
    table: Table,
    pattern: Pattern,
    source: TensorInfo,
    indices: TensorInfo,
    result: TensorInfo,
) -> Kernel:
    """The program of a look-up."""
    if not 0 <= pattern.start < pattern.rows or pattern.step < 0:
        raise InputError(name, f"pattern {pattern}", "start below the number of rows, step from 0 on")
    width = table.width
    chunks = table.row_bytes // width
    if max(pattern.rows, table.indices) * chunks >= 1 << 31:
        raise InputError(name, "table exceeds 32-bit indices", "use a smaller table")
    emitter = Emitter(name, (-(-table.indices // ROWS_A_BLOCK), 1, 1), THREADS)
    with emitter.working_for(operator):
        ids = [emitter.tensor(info) for info in (source, indices, result)]
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        lane = emitter.remainder(thread, LANES, name="lane")
        number = emitter.multiply_add(block, ROWS_A_BLOCK, emitter.divide(thread, LANES, "warp"), "number")
        inside = emitter.within(number, table.indices) if table.indices % ROWS_A_BLOCK else None
        place = emitter.pointer(indices.base_address, number, table.index_bytes, f"{indices.name} address")
        words = table.index_bytes // 4
        loaded = emitter.load(place, words, 0, inside, ids[1], name=indices.name)
        row = Scalar(loaded[0], (number.index * pattern.step + pattern.start) % pattern.rows)
        element = emitter.multiply_add(row, chunks, lane, "table vector")
        pointer = emitter.pointer(source.base_address, element, width, f"{source.name} address")
        element = emitter.multiply_add(number, chunks, lane, "result vector")
        out = emitter.pointer(result.base_address, element, width, f"{result.name} address")
        passes = [
            (first, last_flag(emitter, lane, chunks, first, inside)) for first in range(0, chunks, LANES)
        ]
        for start in range(0, len(passes), LOADS_AT_ONCE):
            some = passes[start : start + LOADS_AT_ONCE]
            values = [
                emitter.load(
                    pointer, max(1, width // 4), first * width, flag, ids[0], width=width, name=source.name
                )
                for first, flag in some
            ]
            for value, (first, flag) in zip(values, some, strict=True):
                emitter.store(out, value, first * width, flag, ids[2], width=width)
    return emitter.finish(notes=(("indices", str(pattern)),))


def last_flag(emitter: Emitter, lane: Scalar, chunks: int, first: int, inside: Flag | None) -> Flag | None:
    """Whether a lane has a vector of the row in this pass."""
    if chunks - first >= LANES:
        return inside
    return emitter.within(lane, chunks - first, inside)

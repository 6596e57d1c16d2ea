"""Address patterns of a recording that may be too many to keep: numbered as they come, stored in a file.

A pattern that was seen lately gets its old number; after 16,384 different ones the memory of them is
dropped, so that random addresses cost disk and not memory. Readers look patterns up one by one.
"""

import tempfile
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.trace.accelsim.spill import Spill
from simulator.trace.compiled_expression import Offsets
from simulator.trace.schema import LANES

REMEMBERED = 1 << 14
FLUSHED_NUMBERS = 1 << 18
MEMORY_BYTES = 1 << 20
COPIED_BYTES = 1 << 17


class PatternTable:
    """Patterns of one kind: rows of `width` numbers of one type ("<i4" or "<i8")."""

    def __init__(self, dtype: str, width: int) -> None:
        self.dtype = dtype
        self.width = width
        self.numbers: dict[bytes, int] = {}
        self.count = 0
        self.recent = self._empty()
        self.file: Any = None

    def _empty(self) -> "array[int]":
        return array("i" if self.dtype == "<i4" else "q")

    def add(self, pattern: bytes) -> int:
        """The number of a pattern, given as its packed numbers."""
        found = self.numbers.get(pattern)
        if found is not None:
            return found
        if len(self.numbers) >= REMEMBERED:
            self.numbers.clear()
        self.numbers[pattern] = self.count
        self.recent.frombytes(pattern)
        self.count += 1
        if len(self.recent) >= FLUSHED_NUMBERS:
            self._flush()
        return self.count - 1

    def _flush(self) -> None:
        if self.file is None:
            self.file = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the table is finished)
        self.recent.tofile(self.file)
        self.recent = self._empty()

    def rows(self, spill: Spill) -> NDArray[Any]:
        """All patterns, in memory or mapped from the run's file; nothing can be added any more."""
        shape = (self.count,) if self.width == 1 else (self.count, self.width)
        if self.file is None and self.count * self.width * self.recent.itemsize <= MEMORY_BYTES:
            return np.array(self.recent, dtype=self.dtype).reshape(shape)
        self._flush()
        self.file.seek(0)
        start = spill.end
        while chunk := self.file.read(COPIED_BYTES):
            spill.append(chunk)
        self.file.close()
        self.numbers.clear()
        return np.memmap(spill.file, dtype=self.dtype, mode="r", offset=start, shape=shape)


class PatternCache(dict[int, Offsets]):
    """Offsets of the 32 lanes by pattern id, made when first asked for; forgets all when it grows large."""

    def __init__(self, strides: NDArray[Any], deltas: NDArray[Any], lists: NDArray[Any]) -> None:
        super().__init__()
        self.tables = (strides, deltas, lists)

    def __missing__(self, number: int) -> Offsets:
        strides, deltas, lists = self.tables
        if len(self) >= REMEMBERED:
            self.clear()
        if number < len(strides):
            stride = int(strides[number])
            offsets = tuple(stride * lane for lane in range(LANES))
        elif number < len(strides) + len(deltas):
            offsets = tuple(deltas[number - len(strides)].tolist())
        else:
            offsets = tuple(lists[number - len(strides) - len(deltas)].tolist())
        self[number] = offsets
        return offsets

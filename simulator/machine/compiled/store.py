"""The tables of one run: allocated with the machine's record, and grown between windows where they are pools.

A table is a NumPy array that the machine's record knows by its address; this object keeps the arrays alive.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

from simulator.machine.compiled import layout, layout_memory, layout_sm
from simulator.machine.compiled.jit import address_of
from simulator.machine.compiled.layout import INTEGER_BYTES, LINE_BYTES
from simulator.machine.compiled.layout_machine import MACHINE

POOL_TABLES = (
    ("nodes", layout.NODE),
    ("packets", layout.PACKET),
    ("requests", layout_sm.REQUEST),
    ("waiters", layout_sm.WAITER),
    ("l2_waiters", layout_memory.L2_WAITER),
    ("misses", layout_memory.MISS),
    ("fetches", layout_memory.FETCH),
    ("dram_requests", layout_memory.DRAM_REQUEST),
)
"""In the order of the pools' numbers."""


PAGE_BYTES = 1 << 21
"""A large page of memory: with small ones, finding a record's page costs more than reading the record."""
SHARED_PAGES = 8
"""Large pages that are asked for at once, for tables that don't fill one."""


def _pages(size: int) -> Any:
    """Zeroed bytes that begin on a large page; memory that nobody touches is not there."""
    room = mmap.mmap(-1, size + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            room.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(room, np.uint8)
    start = -raw.ctypes.data % PAGE_BYTES
    return raw[start : start + size]


class Memory:
    """Zeroed memory for tables, each from a cache line on; small tables share large pages."""

    def __init__(self) -> None:
        self.rest: Any = np.zeros(0, np.uint8)

    def table(self, count: int, kind: np.dtype[Any]) -> Any:
        """A table of zeros."""
        size = count * kind.itemsize
        room = -(-size // LINE_BYTES) * LINE_BYTES
        if room > len(self.rest):
            if room >= PAGE_BYTES:
                return _pages(room)[:size].view(kind)
            self.rest = _pages(SHARED_PAGES * PAGE_BYTES)
        raw, self.rest = self.rest[:size], self.rest[room:]
        return raw.view(kind)


class Store:
    """The machine's record and all tables by name."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.record = self.memory.table(1, MACHINE).view(np.recarray)
        self.here = address_of(self.record)
        self.record["here"] = self.here
        self.tables: dict[str, Any] = {}
        self.records("pools", layout.POOL, len(POOL_TABLES))
        self.set(pool_count=len(POOL_TABLES))

    @property
    def machine(self) -> Any:
        """The machine's record."""
        return self.record[0]

    def set(self, **numbers: int) -> None:
        """Set numbers of the machine's record."""
        for name, value in numbers.items():
            self.record[name] = value

    def put(self, name: str, values: Any) -> Any:
        """A table with a copy of values."""
        given = np.asarray(values)
        table = self.memory.table(given.size, given.dtype).reshape(given.shape)
        table[...] = given
        return self.keep(name, table)

    def keep(self, name: str, table: Any) -> Any:
        """Keep a table, and note its address."""
        self.tables[name] = table
        self.record[name] = address_of(table)
        return table

    def integers(self, name: str, count: int, value: int = 0) -> Any:
        """A table of integers."""
        table = self.memory.table(max(1, count), np.dtype(np.int64))
        if value:
            table[:] = value
        return self.keep(name, table)

    def records(self, name: str, kind: np.dtype[Any], count: int, **values: int) -> Any:
        """A table of records; fields that don't start at 0 are named."""
        table = self.memory.table(max(1, count), kind)
        for field, value in values.items():
            table[field] = value
        return self.keep(name, table)

    def pool(self, number: int, size: int, low: int) -> None:
        """A table that records are taken from, `size` at first; it grows when fewer than `low` are left.

        Record 0 is never taken. Memory that nobody has taken yet is not touched.
        """
        name, kind = POOL_TABLES[number]
        self.records(name, kind, size + 1)
        own = self.tables["pools"][number]
        own["stride"] = kind.itemsize // INTEGER_BYTES
        own["free"] = -1
        own["fresh"] = 1
        own["left"] = size
        own["low"] = low
        own["address"] = address_of(self.tables[name])

    def grow(self, number: int) -> None:
        """Double a pool."""
        name, kind = POOL_TABLES[number]
        old = self.tables[name]
        table = self.memory.table(2 * len(old), kind)
        table[: len(old)] = old
        own = self.tables["pools"][number]
        own["left"] += len(table) - len(old)
        own["address"] = address_of(self.keep(name, table))

    def grow_where_low(self) -> None:
        """Double every pool that has got low."""
        pools = self.tables["pools"]
        for number in range(len(POOL_TABLES)):
            while pools[number]["left"] < pools[number]["low"]:
                self.grow(number)

"""The tables of one run: allocated with the machine's record, and grown between turns where they are pools.

A table is a NumPy array that the machine's record knows by its address; this object keeps the arrays alive.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

from simulator.machine.compiled import layout, layout_memory, layout_sm
from simulator.machine.compiled.jit import address_of
from simulator.machine.compiled.layout import LINE_BYTES
from simulator.machine.compiled.layout_machine import MACHINE, PRIVATE, SUMMED
from simulator.machine.compiled.pools import left

POOL_TABLES = (
    ("nodes", layout.NODE, 1),
    ("packets", layout.PACKET, 1),
    ("requests", layout_sm.REQUEST, 1),
    ("waiters", layout_sm.WAITER, 1),
    ("l2_waiters", layout_memory.L2_WAITER, 1),
    ("misses", layout_memory.MISS, 1),
    ("transfers", layout_memory.TRANSFER, 1),
    ("arrivals", layout_memory.ARRIVAL, 1),
    ("messages", layout.MESSAGE, layout.PIECE),
)
"""In the order of the pools' numbers: name, type, and how many are taken at a time."""


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
    """The machine's records, one a worker, and all tables by name: those of the main worker and the common
    ones plainly, those of other workers with a dot and its number.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self.memory = Memory()
        self.record = self.memory.table(workers, MACHINE).view(np.recarray)
        self.record["here"] = [address_of(self.record[worker : worker + 1]) for worker in range(workers)]
        self.here = address_of(self.record)
        self.tables: dict[str, Any] = {}
        for worker in range(workers):
            self.records("pools", layout.POOL, len(POOL_TABLES), worker)
        self.set(pool_count=len(POOL_TABLES))

    @property
    def machine(self) -> Any:
        """The main worker's record."""
        return self.record[0]

    def set(self, **numbers: int) -> None:
        """Set numbers of the main worker's record."""
        self.set_of(0, **numbers)

    def set_of(self, which: int, **numbers: int) -> None:
        """Set numbers of a worker's record."""
        for name, value in numbers.items():
            self.record[name][which] = value

    def share_out(self) -> None:
        """Give all workers what the main one's record says, but for what each has of its own."""
        for worker in range(1, self.workers):
            own = {name: self.record[name][worker].copy() for name in PRIVATE.split()}
            self.record[worker] = self.record[0]
            self.set_of(worker, **own)

    def add_up(self) -> None:
        """Add what the workers have counted to the tables of the main one."""
        for name in SUMMED:
            for worker in range(1, self.workers):
                part = self.tables[_named(name, worker)]
                self.tables[name] += part
                part[:] = 0

    def put(self, name: str, values: Any) -> Any:
        """A table with a copy of values."""
        given = np.asarray(values)
        table = self.memory.table(given.size, given.dtype).reshape(given.shape)
        table[...] = given
        return self.keep(name, table)

    def keep(self, name: str, table: Any, worker: int = 0) -> Any:
        """Keep a table, and note its address."""
        self.tables[_named(name, worker)] = table
        self.record[name][worker] = address_of(table)
        return table

    def integers(self, name: str, count: int, value: int = 0, worker: int = 0) -> Any:
        """A table of integers."""
        table = self.memory.table(max(1, count), np.dtype(np.int64))
        if value:
            table[:] = value
        return self.keep(name, table, worker)

    def records(self, name: str, kind: np.dtype[Any], count: int, worker: int = 0, **values: int) -> Any:
        """A table of records; fields that don't start at 0 are named."""
        table = self.memory.table(max(1, count), kind)
        for field, value in values.items():
            table[field] = value
        return self.keep(name, table, worker)

    def pool(self, number: int, size: int, low: int) -> None:
        """A table that records are taken from, at first `size` times by each worker; it grows when a worker
        has fewer than `low` left.

        Record 0 is never taken. Memory that nobody has taken yet is not touched.
        """
        name, kind, unit = POOL_TABLES[number]
        self.records(name, kind, (size * self.workers + 1) * unit)
        for worker in range(self.workers):
            own = self.pools_of(worker)[number]
            own["fresh"] = 1 + size * worker
            own["end"] = 1 + size * (worker + 1)
            own["low"] = low
        self._stacks(number)

    def pools_of(self, worker: int) -> Any:
        """The pools of a worker."""
        return self.tables[_named("pools", worker)].view(np.recarray)

    def stack_of(self, number: int, worker: int) -> Any:
        """The stack of what a worker has of a pool's records that have been given back."""
        return self.tables[_named(stack_name(number), worker)]

    def _stacks(self, number: int) -> None:
        """Stacks with room for all of a pool's records, with what was in those before."""
        name, _, unit = POOL_TABLES[number]
        for worker in range(self.workers):
            own = self.pools_of(worker)[number]
            place = _named(stack_name(number), worker)
            table = self.memory.table(len(self.tables[name]) // unit, np.dtype(np.int64))
            if place in self.tables:
                table[: own["count"]] = self.tables[place][: own["count"]]
            self.tables[place] = table
            own["given"] = address_of(table)

    def grow(self, number: int, worker: int) -> None:
        """Double a pool; what is new goes to one worker."""
        name, kind, unit = POOL_TABLES[number]
        old = self.tables[name]
        table = self.memory.table(2 * len(old), kind)
        table[: len(old)] = old
        self.keep(name, table)
        self._stacks(number)
        own = self.pools_of(worker)[number]
        if self.workers == 1:
            own["end"] = len(table) // unit
        else:
            # What has never been taken is a worker's own range, which ends where the next one's begins.
            new = np.arange(len(old) // unit, len(table) // unit)
            self.stack_of(number, worker)[own["count"] : own["count"] + len(new)] = new
            own["count"] += len(new)

    def _level(self, number: int, worker: int) -> None:
        """Let the worker that has most of a pool give some of what it was given back."""
        own = self.pools_of(worker)[number]
        which = max(range(self.workers), key=lambda each: left(self.pools_of(each)[number]))
        rich = self.pools_of(which)[number]
        moved = min(int(rich["count"]), (left(rich) - left(own)) // 2)
        if moved > 0:
            first = rich["count"] - moved
            target = self.stack_of(number, worker)
            target[own["count"] : own["count"] + moved] = self.stack_of(number, which)[first : first + moved]
            for one, sign in ((own, 1), (rich, -1)):
                one["count"] += sign * moved

    def grow_where_low(self) -> None:
        """Help every worker of whose pools one has got low: from another worker, or else with new records."""
        for worker in range(self.workers):
            for number in range(len(POOL_TABLES)):
                own = self.pools_of(worker)[number]
                if self.workers > 1 and left(own) < own["low"]:
                    self._level(number, worker)
                while left(own) < own["low"]:
                    self.grow(number, worker)


def stack_name(number: int) -> str:
    """The table of a pool's records that have been given back."""
    return f"{POOL_TABLES[number][0]}_given"


def _named(name: str, worker: int) -> str:
    return f"{name}.{worker}" if worker else name

"""The only place that knows how the engine's functions run: compiled, or as the plain Python that they are.

State lies in arrays of integers with named fields. A compiled function gets the address of a table and an
index, and sees a record: a bare pointer, without the counting of references that makes arrays as arguments
three times slower, and quick to compile. Three ways of life share these names. A process that builds
(`build.py`) compiles with numba. A process that runs loads what was built (`cache.py`): there the functions
are never called, and no compiler is imported. With compilation switched off (NUMBA_DISABLE_JIT=1) they are
plain Python over the same tables, with their bounds checked. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

WITHOUT_COMPILER = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
BUILDING = bool(os.environ.get("STALLSCOPE_BUILDS_ENGINE"))
"""Set for a process of `build.py` alone."""

tables: dict[int, Any] = {}
"""Without compiler: address of a table → the table. The address stands for it in every other record."""
units: list[Callable[[int, int, int], int]] = []
"""Without compiler: the units that records name by number."""

ALL_BITS = (1 << 64) - 1
VIEW = np.dtype([("v", np.int64, (1 << 20,))])
"""A table of plain integers seen as an array, for rules that take sequences; the length is no bound."""

load: Callable[[int, int], int]
"""Integer `index` of the table at an address."""
store: Callable[[int, int, int], None]
"""Set integer `index` of the table at an address."""
invoke: Callable[[int, int, int, int], int]
"""Call the unit at an address with the machine's own address and two integers."""
load_shared: Callable[[int, int], int]
"""The same as `load`, of a table that another thread writes; what it wrote before is then seen too."""
store_shared: Callable[[int, int, int], None]
"""The same as `store`, of a table that another thread reads."""
load_bits: Callable[[int, int], int]
"""The same as `load`, of an integer whose 64 bits are a set; its highest bit is no sign."""
store_bits: Callable[[int, int, int], None]
"""The same as `store`, of such an integer."""
as_bits: Callable[[int], int]
"""An integer as such a set: a field of a record, or what was made from one."""
quotient: Callable[[int, int], int]
"""Whole quotient of an integer of at least 0 and a positive one: quicker than `//`, which looks at signs."""
bit_count: Callable[[int], int]
"""Bits that are set in an integer of 64 bits."""
lowest_bit: Callable[[int], int]
"""Place of the lowest bit that is set in an integer other than 0."""
sequence: Callable[[int, int], Any]
"""Record 0 at an address as `.v`, an array of integers."""
compiled: Callable[[Function], Function]
"""A part of the engine that other parts call."""
inlined: Callable[[Function], Function]
"""The same for a few lines that are worth no call."""
accessor: Callable[[np.dtype[Any]], Callable[[int, int], Any]]
"""For a type of record: a function (address of a table, index) → the record there."""

ahead: Callable[[np.dtype[Any]], Callable[[int, int], None]]
"""For a type of record: a function (address of a table, index) that asks memory for the record there."""


def _checked(index: int) -> int:
    if index < 0:
        raise IndexError(f"table index {index} is negative")
    return index


class _Sequence:
    def __init__(self, address: int) -> None:
        self.v = tables[-address]


def _same(function: Function) -> Function:
    return function


def _accessor(_kind: np.dtype[Any]) -> Callable[[int, int], Any]:
    return lambda address, index: tables[address][_checked(index)]


def _ahead(_kind: np.dtype[Any]) -> Callable[[int, int], None]:
    return lambda _address, _index: None


def _load(address: int, index: int) -> int:
    return int(tables[-address][_checked(index)])


def _store(address: int, index: int, value: int) -> None:
    tables[-address][_checked(index)] = value


def _load_bits(address: int, index: int) -> int:
    return _load(address, index) & ALL_BITS


def _as_bits(value: int) -> int:
    return int(value) & ALL_BITS


def _store_bits(address: int, index: int, value: int) -> None:
    _store(address, index, value - (value >> 63 << 64))


def _sequence(address: int, _index: int) -> Any:
    return _Sequence(address)


def _invoke(address: int, here: int, a: int, b: int) -> int:
    return units[address](here, a, b)


def _quotient(dividend: int, divisor: int) -> int:
    return dividend // divisor


def _bit_count(value: int) -> int:
    return (int(value) & ALL_BITS).bit_count()


def _lowest_bit(value: int) -> int:
    return (int(value) & -int(value)).bit_length() - 1


if BUILDING:
    from simulator.machine.compiled import numba_names as names

    load, store, sequence, invoke = names.load, names.store, names.accessor(VIEW), names.invoke
    quotient, bit_count, lowest_bit = names.quotient, names.bit_count, names.lowest_bit
    load_shared, store_shared = names.load_shared, names.store_shared
    load_bits, store_bits, as_bits = names.load, names.store, names.same
    compiled, inlined, accessor, ahead = names.compiled, names.inlined, names.accessor, names.ahead
else:
    load, store, sequence, invoke = _load, _store, _sequence, _invoke
    quotient, bit_count, lowest_bit = _quotient, _bit_count, _lowest_bit
    load_shared, store_shared = _load, _store
    load_bits, store_bits, as_bits = _load_bits, _store_bits, _as_bits
    compiled, inlined, accessor, ahead = _same, _same, _accessor, _ahead


def address_of(table: np.ndarray[Any, Any]) -> int:
    """The number that stands for a table in records."""
    address = int(table.ctypes.data)
    if WITHOUT_COMPILER:
        tables[address] = table.view(np.recarray) if table.dtype.names else table
        tables[-address] = table.reshape(-1).view(np.int64)
    return address

"""The only place that meets numba: how functions are compiled, how records are reached, and the shared rules.

State lies in arrays of 64-bit integers with named fields. A compiled function gets the address of a table and
an index, and sees a record: a bare pointer, without the counting of references that makes arrays as arguments
three times slower, and quick to compile. With compilation switched off (NUMBA_DISABLE_JIT=1) the same names
are plain Python over the same tables, with their bounds checked. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import cfunc, config, from_dtype, njit, types
from numba.extending import intrinsic, register_jitable

import hwmodels.cache
import hwmodels.coalescing
import hwmodels.crossbar
import hwmodels.dram.address_map
import hwmodels.dram.dealing
import hwmodels.dram.direction
import hwmodels.dram.refresh
import hwmodels.replacement
import hwmodels.scatter
import hwmodels.shared_memory
import hwmodels.slice_hash
import hwmodels.write_coverage  # noqa: F401 - a rule is in the list once its file has been imported
from hwmodels.rule import listed_rules
from simulator.machine.compiled import cache

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
WITHOUT_COMPILER = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
CACHE = cache.folder()
config.CACHE_DIR = str(CACHE)  # type: ignore[attr-defined]

tables: dict[int, Any] = {}
"""Without compiler: address of a table → the table. The address stands for it in every other record."""


def compiled(function: Function) -> Function:
    """A part of the engine that other compiled parts call."""
    return cast("Function", njit(**OPTIONS, **INNER)(function))


def inlined(function: Function) -> Function:
    """The same for a few lines that are worth no call."""
    return cast("Function", njit(**OPTIONS, **INNER, forceinline=True)(function))


def entry(function: Function) -> Function:
    """A function that Python calls."""
    return cast("Function", njit(**OPTIONS)(function))


def unit(function: Callable[[int, int, int], int]) -> int:
    """The address of a unit of the engine, a function (address of the machine's record, two integers) →
    integer.

    Units are compiled each by itself and meet at run time: what is compiled together is optimised together,
    again at each level of calls, which would take minutes for the whole engine.
    """
    if WITHOUT_COMPILER:
        units.append(function)
        return len(units) - 1
    signature = types.int64(types.int64, types.int64, types.int64)
    address: Any = cfunc(signature, **OPTIONS)(function).address
    return int(address)


units: list[Callable[[int, int, int], int]] = []
"""Without compiler: the units; an index stands for an address."""


def _invoke(typing_context: Any, address: Any, here: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole, whole, whole])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


def share_rules() -> None:
    """Let compiled functions call the rules of `hwmodels` that have been imported by now."""
    for function in listed_rules().values():
        register_jitable(error_model="numpy", _nrt=False)(function)


def accessor(dtype: np.dtype[Any]) -> Callable[[int, int], Any]:
    """A function (address of a table, index) → the record there, of that type."""
    if WITHOUT_COMPILER:
        return lambda address, index: tables[address][_checked(index)]
    kind = from_dtype(dtype)
    size = dtype.itemsize

    def at(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001 (numba gives three)
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            offset = builder.mul(arguments[1], ir.Constant(ir.IntType(64), size))
            place = builder.add(arguments[0], offset)
            return builder.inttoptr(place, context.get_value_type(kind))

        return kind(types.int64, types.int64), generate

    return cast("Callable[[int, int], Any]", intrinsic(at))


def _checked(index: int) -> int:
    if index < 0:
        raise IndexError(f"table index {index} is negative")
    return index


def _load(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(start, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


def _store(typing_context: Any, address: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[2], builder.gep(start, [arguments[1]]))
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


def _ones(value: int) -> int:
    return int(value).bit_count()


def _count_ones(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _lowest(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _lowest_place(value: int) -> int:
    return (int(value) & -int(value)).bit_length() - 1


VIEW = np.dtype([("v", np.int64, (1 << 20,))])
"""A table of plain integers seen as an array, for rules that take sequences; the length is no bound."""

load: Callable[[int, int], int]
"""Integer `index` of the table at an address."""
store: Callable[[int, int, int], None]
"""Set integer `index` of the table at an address."""
invoke: Callable[[int, int, int, int], int]
"""Call the unit at an address with the machine's own address and two integers."""
bit_count: Callable[[int], int]
"""Bits that are set in a non-negative integer."""
lowest_bit: Callable[[int], int]
"""Place of the lowest bit that is set in an integer other than 0."""
sequence: Callable[[int, int], Any]
"""Record 0 at an address as `.v`, an array of integers."""
if WITHOUT_COMPILER:

    class _Sequence:
        def __init__(self, address: int) -> None:
            self.v = tables[-address]

    def load(address: int, index: int) -> int:
        """Integer `index` of the table at an address."""
        return int(tables[-address][_checked(index)])

    def store(address: int, index: int, value: int) -> None:
        """Set integer `index` of the table at an address."""
        tables[-address][_checked(index)] = value

    def sequence(address: int, index: int) -> Any:  # noqa: ARG001
        """The table at an address as `.v`."""
        return _Sequence(address)

    bit_count = _ones
    lowest_bit = _lowest_place

    def invoke(address: int, here: int, a: int, b: int) -> int:
        """Call a unit."""
        return units[address](here, a, b)
else:
    load = cast("Callable[[int, int], int]", intrinsic(_load))
    invoke = cast("Callable[[int, int, int, int], int]", intrinsic(_invoke))
    store = cast("Callable[[int, int, int], None]", intrinsic(_store))
    bit_count = cast("Callable[[int], int]", intrinsic(_count_ones))
    lowest_bit = cast("Callable[[int], int]", intrinsic(_lowest))
    sequence = accessor(VIEW)


def address_of(table: np.ndarray[Any, Any]) -> int:
    """The number that stands for a table in records."""
    address = int(table.ctypes.data)
    if WITHOUT_COMPILER:
        tables[address] = table.view(np.recarray) if table.dtype.names else table
        tables[-address] = table.reshape(-1).view(np.int64)
    return address


share_rules()

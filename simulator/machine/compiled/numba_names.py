"""What `jit.py` names, for a process that builds: numba's decorators, and records as bare pointers.

Functions are left unoptimised here: `build.py` links all that a group of units needs and optimises it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.extending import intrinsic, register_jitable

LINE_BYTES = 64
"""A cache line."""
Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def compiled(function: Function) -> Function:
    """A part of the engine that other parts call."""
    return cast("Function", njit(**OPTIONS)(function))


def inlined(function: Function) -> Function:
    """The same for a few lines that are worth no call."""
    return cast("Function", njit(**OPTIONS, forceinline=True)(function))


@inlined
def same(value: int) -> int:
    """The value itself."""
    return value


def rule(function: Function) -> Function:
    """Let compiled functions call a rule of `hwmodels`."""
    return register_jitable(error_model="numpy", _nrt=False)(function)


def accessor(dtype: np.dtype[Any]) -> Callable[[int, int], Any]:
    """A function (address of a table, index) → the record there, of that type."""
    kind = from_dtype(dtype)
    size = dtype.itemsize

    def at(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001 (numba gives three)
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            offset = builder.mul(arguments[1], ir.Constant(ir.IntType(64), size))
            place = builder.add(arguments[0], offset)
            return builder.inttoptr(place, context.get_value_type(kind))

        return kind(types.int64, types.int64), generate

    return cast("Callable[[int, int], Any]", intrinsic(at))


def ahead(dtype: np.dtype[Any]) -> Callable[[int, int], None]:
    """A function (address of a table, index) that asks for the record there, all its cache lines, without
    waiting for it.
    """
    size = dtype.itemsize
    byte, number = ir.IntType(8), ir.IntType(32)

    def ask(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], kind)
            offset = builder.mul(arguments[1], ir.Constant(ir.IntType(64), size))
            place = builder.inttoptr(builder.add(arguments[0], offset), byte.as_pointer())
            for line in range(0, size, LINE_BYTES):
                at = builder.gep(place, [ir.Constant(ir.IntType(64), line)])
                builder.call(function, [at, number(1), number(3), number(1)])
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), generate

    return cast("Callable[[int, int], None]", intrinsic(ask))


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


def _load_shared(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(builder.gep(start, [arguments[1]]), "acquire", 8)

    return types.int64(types.int64, types.int64), generate


def _store_shared(typing_context: Any, address: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store_atomic(arguments[2], builder.gep(start, [arguments[1]]), "release", 8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


def _invoke(typing_context: Any, address: Any, here: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole, whole, whole])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


def _quotient(typing_context: Any, dividend: Any, divisor: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.udiv(arguments[0], arguments[1])

    return types.int64(types.int64, types.int64), generate


def _bit_count(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _lowest_bit(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


load = cast("Callable[[int, int], int]", intrinsic(_load))
store = cast("Callable[[int, int, int], None]", intrinsic(_store))
load_shared = cast("Callable[[int, int], int]", intrinsic(_load_shared))
store_shared = cast("Callable[[int, int, int], None]", intrinsic(_store_shared))
invoke = cast("Callable[[int, int, int, int], int]", intrinsic(_invoke))
quotient = cast("Callable[[int, int], int]", intrinsic(_quotient))
bit_count = cast("Callable[[int], int]", intrinsic(_bit_count))
lowest_bit = cast("Callable[[int], int]", intrinsic(_lowest_bit))

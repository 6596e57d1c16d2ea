"""The list of named kernels, and the reading of their parameters from text or from a config.

A parameter is declared once, in the function's signature: its default and, as `Annotated[int, (low,
high)]`, its range. A name or parameter that does not exist is answered with the nearest one that does.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from hwmodels.errors import InputError, unknown
from simulator.trace.schema import KernelTrace

KernelFunction = Callable[..., list[KernelTrace]]
REGISTRY: dict[str, KernelFunction] = {}
PREFIX = "kernel:"

Megabytes = Annotated[float, (1 / 1024, 65536)]
Kilobytes = Annotated[float, (1 / 32, 1 << 24)]
Threads = Annotated[int, (1, 1024)]
Blocks = Annotated[int, (1, 1 << 24)]
Turns = Annotated[int, (1, 1 << 24)]
Unroll = Annotated[int, (1, 64)]
Width = Annotated[int, (4, 16)]
Switch = Annotated[int, (0, 1)]


def kernel(function: KernelFunction) -> KernelFunction:
    """Enter a function into the registry under its own name."""
    REGISTRY[function.__name__] = function
    return function


def kernel_names() -> list[str]:
    """All names, sorted."""
    return sorted(REGISTRY)


def describe(name: str) -> str:
    """One paragraph for help texts: the docstring's first line, the parameters with defaults and ranges."""
    function = look_up(name)
    hints = get_type_hints(function, include_extras=True)
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        limits = bounds(hints[parameter.name])
        span = "" if limits is None else f" ({plain(limits[0])}–{plain(limits[1])})"
        parts.append(f"{parameter.name}={parameter.default}{span}")
    return f"{name}: {(function.__doc__ or '').strip().splitlines()[0]} Parameters: {', '.join(parts)}."


def plain(number: float) -> str:
    """A number for a sentence, without an exponent where it is whole."""
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def look_up(name: str) -> KernelFunction:
    """The function of a name."""
    if name not in REGISTRY:
        raise unknown(f"{PREFIX}{name}", "kernel", name, REGISTRY)
    return REGISTRY[name]


def bounds(hint: Any) -> tuple[float, float] | None:
    """The declared range of a parameter, None for a word."""
    if get_origin(hint) is not Annotated:
        return None
    low, high = get_args(hint)[1]
    return low, high


def from_spec(text: str) -> list[KernelTrace]:
    """The kernels that `kernel:NAME,key=value,…` stands for (the prefix may be left out)."""
    name, *pairs = text.removeprefix(PREFIX).split(",")
    parameters: dict[str, str] = {}
    for item in pairs:
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or key.strip() in parameters:
            what = "is given twice" if key.strip() in parameters else "is no key=value"
            raise InputError(text, f"{item!r} {what}", f"write {PREFIX}NAME,key=value,key=value")
        parameters[key.strip()] = value.strip()
    return named(name.strip(), parameters)


def named(name: str, parameters: Mapping[str, Any]) -> list[KernelTrace]:
    """The kernels of a name with these parameters, given as numbers or as text."""
    function = look_up(name)
    place = f"{PREFIX}{name}"
    hints = get_type_hints(function, include_extras=True)
    known = inspect.signature(function).parameters
    values: dict[str, Any] = {}
    for key, value in parameters.items():
        if key not in known:
            raise unknown(place, "parameter", key, known)
        values[key] = converted(f"{place},{key}", value, hints[key])
    return function(**values)


def converted(place: str, value: Any, hint: Any) -> Any:
    """A parameter's value in its declared type and range."""
    limits = bounds(hint)
    if limits is None:
        return str(value)
    kind = get_args(hint)[0]
    low, high = limits
    try:
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError(value)
        number = kind(value)
    except (TypeError, ValueError):
        what = "a whole number" if kind is int else "a number"
        raise InputError(
            place, f"{str(value)[:40]!r} is not {what}", f"give {plain(low)} to {plain(high)}"
        ) from None
    if not low <= number <= high:
        raise InputError(place, f"{value} is out of range", f"give {plain(low)} to {plain(high)}")
    return number


def choice(place: str, value: str, valid: Mapping[str, Any]) -> Any:
    """What a word stands for, or the error with the nearest word."""
    if value not in valid:
        raise unknown(f"{PREFIX}{place}", "choice", value, valid)
    return valid[value]

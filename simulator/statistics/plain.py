"""Dataclasses of plain numbers to JSON documents and back, so that a result can be kept with nothing lost.

Only what the records need: dataclasses, lists and tuples of them, integers, floats, words, booleans. A
document with another shape than the class asks for is an InputError at the place where it differs; nothing
of it is executed.
"""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, TypeVar

from hwmodels.errors import InputError

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A document of dicts, lists, numbers and words."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], document: Any, place: str) -> T:
    """The dataclass of that kind; every field must be there and have its type."""
    made: T = _read(kind, document, place)
    return made


def _read(kind: Any, document: Any, place: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, document, place)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {list, tuple}:
        if not isinstance(document, list):
            raise InputError(place, "not a list", "a file that `Result.save` wrote")
        items = [_read(arguments[0], item, f"{place}[{at}]") for at, item in enumerate(document)]
        return items if origin is list else tuple(items)
    wanted = (int, float) if kind is float else kind
    if not isinstance(document, wanted) or (isinstance(document, bool) and kind is not bool):
        raise InputError(
            place, f"{str(document)[:40]!r} is not of type {kind.__name__}", "a file that was not edited"
        )
    return kind(document)


def _read_dataclass(kind: Any, document: Any, place: str) -> Any:
    names = [field.name for field in dataclasses.fields(kind)]
    if not isinstance(document, dict) or set(document) != set(names):
        raise InputError(
            place, f"not the fields of {kind.__name__}", f"a file of this version ({', '.join(names)})"
        )
    hints = typing.get_type_hints(kind)
    return kind(**{name: _read(hints[name], document[name], f"{place}.{name}") for name in names})

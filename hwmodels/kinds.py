"""The kinds of value that a card holds: what a person may write, what the model holds, which range is legal.

Each kind reads a value with its checks and shows it again in the unit of card files. A time is written in ns
and held in femtoseconds. Nothing here knows what the hardware does.
"""

from __future__ import annotations

import dataclasses
import math
import re
from decimal import Decimal
from enum import IntEnum
from typing import Any, Protocol

from hwmodels.errors import InputError, nearest
from hwmodels.units import fs_to_ns, ns_to_fs


class Kind(Protocol):
    """What every declaration offers: a unit, a sentence, and reading a person's value with its checks."""

    @property
    def unit(self) -> str: ...
    @property
    def doc(self) -> str: ...
    def key(self, field_name: str) -> str: ...
    def read(self, value: object, place: str) -> Any: ...
    def show(self, value: Any) -> Any: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Number:
    """A whole number between `low` and `high`, both included."""

    unit: str
    low: int
    high: int
    doc: str

    def key(self, field_name: str) -> str:
        return field_name

    def read(self, value: object, place: str) -> int:
        number = _finite(value, place, f"a whole number of {self.unit}")
        if number != int(number):
            raise InputError(place, f"{value} is not whole", f"{math.floor(number)} or {math.ceil(number)}")
        _check_range(number, self.low, self.high, self.unit, place)
        return int(number)

    def show(self, value: int) -> int:
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class Nanoseconds:
    """A time that card files give in ns (decimals allowed) and the model holds in femtoseconds."""

    low: int
    high: int
    doc: str
    unit: str = "ns"

    def key(self, field_name: str) -> str:
        return f"{field_name}_ns"

    def read(self, value: object, place: str) -> int:
        number = _finite(value, place, "a time in ns")
        _check_range(number, self.low, self.high, self.unit, place)
        return ns_to_fs(number)

    def show(self, value: int) -> int | float:
        return fs_to_ns(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Numbers:
    """An ascending list of whole numbers, held as a tuple."""

    unit: str
    low: int
    high: int
    doc: str

    def key(self, field_name: str) -> str:
        return field_name

    def read(self, value: object, place: str) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= 64:
            raise InputError(
                place, f"{value!r} is not a list", f"1 to 64 whole numbers of {self.unit}, as [0, 8, 16]"
            )
        item = Number(self.unit, self.low, self.high, self.doc)
        numbers = tuple(item.read(one, place) for one in value)
        if list(numbers) != sorted(set(numbers)):
            raise InputError(place, "the list does not ascend", str(sorted(set(numbers))))
        return numbers

    def show(self, value: tuple[int, ...]) -> list[int]:
        return list(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """One word of a closed list."""

    choices: tuple[str, ...]
    doc: str
    unit: str = "choice"

    def key(self, field_name: str) -> str:
        return field_name

    def read(self, value: object, place: str) -> str:
        if isinstance(value, str) and value in self.choices:
            return value
        near = nearest(str(value), self.choices)
        raise InputError(
            place, f"{value!r} is not a choice", f"{near!r} (choices: {', '.join(self.choices)})"
        )

    def show(self, value: str) -> str:
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """One member of an enumeration, by its name."""

    enumeration: type[IntEnum]
    doc: str
    unit: str = "choice"

    def key(self, field_name: str) -> str:
        return field_name

    def read(self, value: object, place: str) -> IntEnum:
        name = value.name if isinstance(value, self.enumeration) else value
        return self.enumeration[Choice(tuple(self.enumeration.__members__), self.doc).read(name, place)]

    def show(self, value: IntEnum) -> str:
        return value.name


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A short text of one line that matches `pattern` as a whole."""

    doc: str
    pattern: str
    example: str
    unit: str = "text"

    def key(self, field_name: str) -> str:
        return field_name

    def read(self, value: object, place: str) -> str:
        # An unquoted 8.0 or 4090 in a YAML file is a number to YAML and a name to the person who wrote it.
        word = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        if isinstance(word, str) and len(word) <= 200 and re.fullmatch(self.pattern, word):
            return word
        raise InputError(
            place, f"{str(value)[:80]!r} is not of the right form", f"a text such as {self.example!r}"
        )

    def show(self, value: str) -> str:
        return value


def _finite(value: object, place: str, wanted: str) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise InputError(place, f"{str(value)[:80]!r} is not a number", wanted)
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        raise InputError(place, f"{value} is not finite", wanted)
    return value


def _check_range(number: int | float | Decimal, low: int, high: int, unit: str, place: str) -> None:
    if not low <= number <= high:
        near = low if number < low else high
        raise InputError(
            place, f"{_short(number)} is outside {low} to {high} {unit}", f"{near} is the nearest"
        )


def _short(number: int | float | Decimal) -> str:
    shown = (
        str(number)
        if not isinstance(number, int) or abs(number) < 10**30
        else f"a number of {number.bit_length()} bits"
    )
    return shown[:40]

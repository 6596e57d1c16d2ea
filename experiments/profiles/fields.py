"""Checked access to the fields of an event: a missing, wrong or impossible value is an error that names the
field's place in the file.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.profiles.profile import Extent
from hwmodels.errors import InputError

MAX_NANOSECONDS = 1 << 62
NO_FIELDS: Mapping[str, Any] = {}


class Fields:
    """An object of the file and its place."""

    def __init__(self, place: str, values: Mapping[str, Any]) -> None:
        self.place = place
        self.values = values

    def inner(self, name: str, *, optional: bool = False) -> "Fields":
        """An object within; an empty one where it may be missing."""
        value = self.values.get(name, NO_FIELDS if optional else None)
        if not isinstance(value, Mapping):
            raise self._wrong(name, value, "an object")
        return Fields(f"{self.place}.{name}", value)

    def text(self, name: str) -> str:
        """A text, without what a terminal would act upon."""
        value = self.values.get(name)
        if not isinstance(value, str) or not value:
            raise self._wrong(name, value, "a text")
        if value.isprintable():
            return value
        return "".join(one if one.isprintable() else " " for one in value)

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self.values.get(name)
        if type(value) is not int or not low <= value <= high:
            raise self._wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def optional_whole(self, names: Sequence[str]) -> int | None:
        """The first of these fields that is there and is a whole number."""
        for name in names:
            value = self.values.get(name)
            if type(value) is int and 0 <= value < 1 << 63:
                return value
        return None

    def number(self, name: str, *, optional: bool = False) -> float | None:
        """A finite number."""
        if optional and self.values.get(name) is None:
            return None
        value = self.values.get(name)
        if type(value) not in {int, float} or not math.isfinite(value := _as_float(value)):
            raise self._wrong(name, self.values.get(name), "a finite number")
        return value

    def nanoseconds(self, name: str) -> int:
        """A time that the file gives in microseconds."""
        value = self.values.get(name)
        if type(value) is int:
            time = value * 1000
        elif type(value) is float and math.isfinite(value):
            time = round(value * 1000)
        else:
            raise self._wrong(name, value, "a time in microseconds")
        if not 0 <= time < MAX_NANOSECONDS:
            raise self._wrong(name, value, "a time in microseconds")
        return time

    def extent(self, name: str, most: Extent) -> Extent:
        """A grid or a block."""
        value = self.values.get(name)
        if (
            not isinstance(value, list)
            or len(value) != 3
            or not all(type(one) is int and 1 <= one <= limit for one, limit in zip(value, most, strict=True))
        ):
            raise self._wrong(name, value, f"three whole numbers, at most {list(most)}")
        return value[0], value[1], value[2]

    def listed(self, names: Sequence[str]) -> Sequence[Any]:
        """The first of these fields that is a list; an empty one where none is."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, list):
                return value
        return ()

    def thread(self) -> tuple[str, str]:
        """Process and thread, which are numbers or words."""
        return str(self.values.get("pid"))[:100], str(self.values.get("tid"))[:100]

    def _wrong(self, name: str, value: Any, wanted: str) -> InputError:
        place = f"{self.place}.{name}"
        if name not in self.values:
            return InputError(place, "is missing", f"{wanted} is needed")
        return InputError(place, f"{str(value)[:40]!r} is not {wanted}", "profile again, or mend the file")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf

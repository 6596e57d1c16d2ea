"""Plain values of a JSON header, judged one by one: exact keys, whole numbers in range, short texts.

Each function returns the value in its type, or raises the error of one line that names its place.
"""

from typing import Any, NoReturn

from hwmodels.errors import InputError, unknown
from simulator.trace import limits

BIGGEST = 1 << 62


def no_number(text: str) -> NoReturn:
    """Refuse NaN, infinity and fractions."""
    raise ValueError(f"{text[:20]} is no whole number")


def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def refuse(place: str, problem: str, remedy: str) -> NoReturn:
    """Raise the error of one line."""
    raise InputError(place, problem, remedy)


def keys(place: str, document: dict[str, Any], wanted: set[str]) -> None:
    """Exactly these keys."""
    for key in sorted(document):
        if key not in wanted:
            raise unknown(place, "key", key[:40], wanted)
    for key in sorted(wanted - set(document)):
        refuse(place, f"the key {key!r} is missing", "write the file again")


def whole(place: str, value: Any, low: int = -BIGGEST, high: int = BIGGEST) -> int:
    """A whole number within bounds."""
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(place, f"{str(value)[:40]!r} is no whole number", f"give {low} to {high}")
    if not low <= value <= high:
        refuse(place, f"{str(value)[:40]} is out of range", f"give {low} to {high}")
    return value


def text(place: str, value: Any) -> str:
    """A string of bounded length."""
    if not isinstance(value, str) or len(value) > limits.MAX_NAME:
        refuse(place, "is no text or too long", f"give up to {limits.MAX_NAME} characters")
    return value


def listed(place: str, value: Any, most: int) -> list[Any]:
    """A list of bounded length."""
    if not isinstance(value, list) or len(value) > most:
        refuse(place, "is no list or too long", f"give up to {most} entries")
    return value


def wholes(place: str, value: Any, most: int) -> tuple[int, ...]:
    """A list of whole numbers."""
    return tuple(whole(place, one) for one in listed(place, value, most))

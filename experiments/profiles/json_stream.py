"""JSON of any length, one value at a time: the members of the outer object, and the elements of its list of
events, each bounded in length and depth.

Each value is decoded by the standard decoder from a window of the text, which grows only while a value is
incomplete. NaN and Infinity, which JSON doesn't have, are refused.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from experiments.profiles.limits import ProfileLimits
from experiments.profiles.text_stream import TextStream
from hwmodels.errors import InputError

BLANK = re.compile(r"[ \t\r\n]*")
REMEDY = "give the trace as the profiler wrote it"


class _NotANumberError(ValueError):
    pass


def _no_number(text: str) -> NoReturn:
    raise _NotANumberError(text)


class JsonStream:
    """Steps over the text; `members()` and `elements()` are to be read to their end, one within the other."""

    def __init__(self, stream: TextStream, limits: ProfileLimits) -> None:
        self.stream = stream
        self.limits = limits
        self.text = ""
        self.at = 0
        self.before = 0  # characters that left the window
        self.decoder = json.JSONDecoder(parse_constant=_no_number)

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            match = BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.fill():
                return ""

    def fill(self) -> bool:
        """Take another piece into the window, dropping what is done; False at the end of the text."""
        piece = self.stream.read()
        if not piece:
            return False
        self.before += self.at
        self.text = self.text[self.at :] + piece
        self.at = 0
        return True

    def refuse(self, place: str, problem: str) -> NoReturn:
        """An InputError with the place and the character where it stands."""
        where = f"{place}, " if place else ""
        raise InputError(f"{self.stream.name}:{where}character {self.before + self.at}", problem, REMEDY)

    def expect(self, characters: str, place: str) -> str:
        """Step over one of these characters."""
        found = self.peek()
        if not found:
            self.refuse(place, "the text ends here")
        if found not in characters:
            wanted = " or ".join(repr(one) for one in characters)
            self.refuse(place, f"{found!r} instead of {wanted}")
        self.at += 1
        return found

    def members(self) -> Iterator[str]:
        """The names of the outer object's members; after each the caller reads its value."""
        self.expect("{", "")
        if self.peek() == "}":
            self.at += 1
            return
        while True:
            if self.peek() != '"':
                self.refuse("", "no name of a member")
            name = self.value("a name")
            self.expect(":", str(name)[:40])
            yield str(name)
            if self.expect(",}", str(name)[:40]) == "}":
                return

    def elements(self, name: str) -> Iterator[tuple[int, Any]]:
        """The elements of a list with their numbers."""
        self.expect("[", name)
        if self.peek() == "]":
            self.at += 1
            return
        number = 0
        while True:
            if number >= self.limits.events:
                self.refuse(name, f"more than {self.limits.events} events")
            yield number, self.value(f"{name}[{number}]")
            if self.expect(",]", f"{name}[{number}]") == "]":
                return
            number += 1

    def value(self, place: str) -> Any:
        """The value that stands next."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except _NotANumberError as error:
                self.refuse(place, f"{error} is no number")
            except RecursionError:
                self.refuse(place, f"nested deeper than {self.limits.depth}")
            except json.JSONDecodeError as error:
                if self._grow(place):
                    continue
                if error.pos >= len(self.text):
                    self.refuse(place, "the text ends here")
                self.refuse(place, f"no JSON ({error.msg.lower()})")
            except ValueError:
                self.refuse(place, "a number of thousands of digits")
            # A number at the window's end may go on in the next piece.
            if end == len(self.text) and self._grow(place):
                continue
            self._check(value, end, place)
            self.at = end
            return value

    def _grow(self, place: str) -> bool:
        if len(self.text) - self.at > self.limits.value_characters:
            self.refuse(place, f"longer than {self.limits.value_characters} characters")
        return self.fill()

    def _check(self, value: Any, end: int, place: str) -> None:
        if end - self.at > self.limits.value_characters:
            self.refuse(place, f"longer than {self.limits.value_characters} characters")
        opened = self.text.count("[", self.at, end) + self.text.count("{", self.at, end)
        if opened > self.limits.depth and depth_of(value) > self.limits.depth:
            self.refuse(place, f"nested deeper than {self.limits.depth}")


def depth_of(value: Any) -> int:
    """How deep lists and objects are nested, without recursion."""
    deepest, left = 0, [(value, 1)]
    while left:
        one, depth = left.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if isinstance(one, dict | list):
            deepest = max(deepest, depth)
        left.extend((item, depth + 1) for item in inner)
    return deepest

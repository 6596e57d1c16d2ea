"""Ways to damage a file: bytes flipped, cut, doubled, moved, replaced by words that readers stumble over.

The dice are anything with `randrange`: hypothesis' or a coverage-guided fuzzer's.
"""

from __future__ import annotations

from typing import Protocol

WORDS: tuple[bytes, ...] = (
    *(b"0", b"-1", b"1", b"255", b"65536", b"4294967296", b"9223372036854775807", b"-9223372036854775808"),
    *(b"9" * 40, b"1e999", b"-1e999", b"NaN", b"Infinity", b"0.1", b"1_0", b"0x10", b"1/0", b"true", b"null"),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"[" * 300,
        b"{" * 300,
        b'{"a":' * 200,
        b'"',
        b"'",
        b",",
        b":",
        b"\n",
        b"\r\n",
        b"\r",
    ),
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xae",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\\u0000",
        b"\\ud800",
        b"\t",
    ),
    *(
        b"!!python/object/apply:os.system [true]",
        b"!!binary",
        b"&a",
        b"*a",
        b"<<: *a",
        b"- - - -",
        b"? ",
        b"| ",
    ),
    *(b"../../etc/passwd", b"/etc/passwd", b"kernel0/../../x", b"C:\\x", b"__proto__", b"__class__", b"%s%n"),
    *(b"gpu.sm_count", b"scale", b"extends: ", b"value: ", b"unit: ", b" " * 400, b"A" * 5000, b"-" * 80),
    *(b"\x93NUMPY", b"\x01\x00", b"descr", b"|O", b"<i8", b"fortran_order", b"(99999999999,)", b"PK\x03\x04"),
)


class Dice(Protocol):
    """What decides."""

    def randrange(self, stop: int) -> int:
        """A number below `stop`."""


def damaged(seed: bytes, dice: Dice) -> bytes:
    """A seed with one to six pieces damaged."""
    data = bytearray(seed)
    for _ in range(1 + dice.randrange(6)):
        ACTS[dice.randrange(len(ACTS))](data, dice)
    return bytes(data)


def _place(data: bytearray, dice: Dice) -> int:
    return dice.randrange(len(data)) if data else 0


def _flip(data: bytearray, dice: Dice) -> None:
    if data:
        data[_place(data, dice)] ^= 1 << dice.randrange(8)


def _byte(data: bytearray, dice: Dice) -> None:
    if data:
        data[_place(data, dice)] = dice.randrange(256)


def _cut(data: bytearray, dice: Dice) -> None:
    del data[_place(data, dice) :]


def _drop(data: bytearray, dice: Dice) -> None:
    at = _place(data, dice)
    del data[at : at + 1 + dice.randrange(40)]


def _double(data: bytearray, dice: Dice) -> None:
    at = _place(data, dice)
    piece = data[at : at + 1 + dice.randrange(200)]
    data[at:at] = piece * (1 + dice.randrange(4))


def _move(data: bytearray, dice: Dice) -> None:
    at = _place(data, dice)
    piece = data[at : at + 1 + dice.randrange(60)]
    del data[at : at + len(piece)]
    to = _place(data, dice)
    data[to:to] = piece


def _word(data: bytearray, dice: Dice) -> None:
    at = _place(data, dice)
    data[at:at] = WORDS[dice.randrange(len(WORDS))]


def _instead(data: bytearray, dice: Dice) -> None:
    """A word in the place of a number or a name, which leaves the rest of a text sound."""
    at = _place(data, dice)
    while at and _is_plain(data[at - 1]):
        at -= 1
    end = at
    while end < len(data) and _is_plain(data[end]):
        end += 1
    data[at:end] = WORDS[dice.randrange(len(WORDS))]


def _is_plain(letter: int) -> bool:
    return chr(letter).isalnum() or letter in b"._-"


ACTS = (_flip, _byte, _cut, _drop, _double, _move, _word, _instead, _instead, _instead)


def truncations(data: bytes) -> list[int]:
    """Where to cut a file: at every byte of a small one, at every line end and 200 offsets of a larger."""
    if len(data) < SMALL_BYTES:
        return list(range(len(data)))
    ends = [place for place, letter in enumerate(data) if letter == ord("\n")]
    return sorted({*ends, *(place * len(data) // OFFSETS for place in range(OFFSETS))})


SMALL_BYTES, OFFSETS = 2048, 200

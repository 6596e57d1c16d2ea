"""Tapes: queues of messages that lie one after another in memory. Writing and reading goes straight ahead,
where each of entries that are linked together would be a new place.

A tape lies in pieces of `PIECE` records of the pool of messages. The last record of a piece holds no message:
its `what` is the piece that follows, its `extra` the end of the one before. An empty tape has no piece: those
that are read are given back, so that the next message is written where one has just been read.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import ahead, compiled, inlined
from simulator.machine.compiled.layout import MESSAGE, P_MESSAGES, PIECE, message, tape
from simulator.machine.compiled.pools import give, take
from simulator.machine.order import NEVER

LAST = PIECE - 1
AHEAD = 2
"""Messages further on that memory is asked for while one is written: those of the next cache line."""
ask_message = ahead(MESSAGE)


@compiled
def _lengthen(m: Any, end: int) -> int:
    """Put a piece behind the one that ends at `end`; its first record."""
    piece = PIECE * take(m, P_MESSAGES)
    message(m.messages, end).what = piece
    message(m.messages, piece + LAST).extra = end
    return piece


@inlined
def put(m: Any, which: int, key: int) -> int:
    """A new last message of a tape, with this key; the rest is the caller's to fill."""
    own = tape(m.tapes, which)
    at = own.tail + 1
    if own.first == NEVER:
        at = PIECE * take(m, P_MESSAGES)
        own.first = key
        own.head = at
    elif at & LAST == LAST:
        at = _lengthen(m, at)
    own.tail = at
    message(m.messages, at).key = key
    ask_message(m.messages, at + AHEAD)
    return at


@compiled
def _move_back(m: Any, own: Any, at: int, key: int) -> int:
    """Let messages with larger keys change places with the last one; where that then stands."""
    while at != own.head:
        before = at - 1 if at & LAST else message(m.messages, at + LAST).extra - 1
        if message(m.messages, before).key <= key:
            break
        one = message(m.messages, at)
        other = message(m.messages, before)
        one.key = other.key
        one.line = other.line
        one.what = other.what
        one.extra = other.extra
        one.payload = other.payload
        one.sm = other.sm
        one.slice = other.slice
        one.kind = other.kind
        at = before
    message(m.messages, at).key = key
    if at == own.head:
        own.first = key
    return at


@inlined
def put_in_order(m: Any, which: int, key: int) -> int:
    """The same in a tape that is sorted by key; what comes is mostly the last."""
    at = put(m, which, key)
    own = tape(m.tapes, which)
    if own.last > key and at != own.head:
        return _move_back(m, own, at, key)
    own.last = key
    return at


@inlined
def after(m: Any, at: int) -> int:
    """The place behind that of a message."""
    at += 1
    return message(m.messages, at).what if at & LAST == LAST else at


@inlined
def _leave(m: Any, at: int) -> None:
    """Give back the piece of the message that was read before, and keep that of this one until the next."""
    if m.read_piece:
        give(m, P_MESSAGES, m.read_piece)
    m.read_piece = at // PIECE


@inlined
def pass_by(m: Any, which: int) -> int:
    """Take the first message of a tape, which has one. It can be read until the next one is taken."""
    own = tape(m.tapes, which)
    at = own.head
    if at == own.tail:
        own.first = NEVER
        _leave(m, at)
        return at
    following = at + 1
    if following & LAST == LAST:
        following = message(m.messages, following).what
        _leave(m, at)
    own.head = following
    own.first = message(m.messages, following).key
    return at

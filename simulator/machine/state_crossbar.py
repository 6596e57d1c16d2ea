"""The state of the crossbar: plain fields, declared once, from which every engine's crossbar is made.

Cycles are those of the L2 clock. A queue entry ends with its packet, and its number (the order in which
packets reached the crossbar) makes every key unique, so heaps never compare packets. Nothing here moves
time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from simulator.machine.messages import Packet

QueuedRequest = tuple[int, int, int, Packet]
"""(cycle from which it may be arbitrated, number, time of arrival in fs, packet)."""

CrossingEntry = tuple[int, int, int, Packet]
"""(cycle from which it may use the partition link, number, kind of message, packet)."""

LateReply = tuple[int, int, Packet]
"""(cycle at which it leaves the partition link, number, packet)."""


@dataclass(slots=True)
class RequestState:
    """The request network."""

    port_free: list[int]
    """By SM: first cycle at which its in-port may pass another packet."""
    queues: list[list[QueuedRequest]]
    """By slice: a heap, oldest first."""
    credits: list[int]
    """By slice: free places of its input queue, as the crossbar knows them."""
    slice_free: list[int]
    """By slice: first cycle at which its port may take another packet."""
    due: list[tuple[int, int]] = field(default_factory=list)
    """Heap of (cycle, slice): when a slice may take its next packet."""
    armed: list[int] = field(default_factory=list)
    """By slice: the cycle of its entry in `due`; entries with another cycle are out of date."""
    number: int = 0


@dataclass(slots=True)
class ReplyState:
    """The reply network."""

    fifos: list[deque[tuple[int, Packet]]]
    """By slice: (time of arrival in fs, packet), oldest first."""
    sm_free: list[int]
    """By SM: first cycle at which its out-port may take another packet."""
    turn: list[int]
    """By SM: the slice that is first in its round robin."""
    active: set[int] = field(default_factory=set)
    """Slices whose FIFO holds a packet."""
    late: list[LateReply] = field(default_factory=list)
    """Heap of replies inside the partition link."""


@dataclass(slots=True)
class CrossingState:
    """The partition link: one server for each direction."""

    waiting: tuple[list[CrossingEntry], list[CrossingEntry]] = field(default_factory=lambda: ([], []))
    """By partition that is left: a heap, oldest first."""
    free: list[int] = field(default_factory=lambda: [0, 0])
    """By partition that is left: when its server is free, in cycles × bytes a cycle."""
    number: int = 0

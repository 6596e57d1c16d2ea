"""The state of an L2 slice: plain fields, declared once, from which every engine's slice is made.

Tags, masks and stamps are flat lists indexed by set × ways + way; a mask has one bit for each of a line's
four sectors. Cycles are those of the L2 clock. `slot_of` repeats what `line_of` says, for quick look-up.
Nothing here moves time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from simulator.machine.messages import Packet
from simulator.machine.order import NEVER

SECTOR_BYTES = 32

FREE = -1
"""Tag of an empty way."""

# Why the head of an input queue waits.
NOTHING = 0
OUTPUT = 1
MSHR_ENTRY = 2
MSHR_MERGE = 3
WAY = 4
WRITE_PLACE = 5
ATOMIC_UNIT = 6
STALL_TEXTS = (
    "its turn",
    "its replies to leave for the crossbar",
    "an MSHR",
    "a place to merge in an MSHR",
    "a way whose line is not on its way",
    "places for the write-back in the queue of a DRAM channel",
    "the atomic unit",
)


@dataclass(slots=True)
class Fetch:
    """One sector on its way from DRAM, with the times that its latency is cut at, in femtoseconds."""

    slice_index: int
    """Slice inside its memory partition."""
    line: int
    sector: int
    kernel: int
    arrive_fs: int = 0
    """At the controller."""
    first_fs: int = 0
    """First DRAM command issued for it."""
    column_fs: int = 0
    burst_fs: int = 0
    """Start of its data burst."""
    done_fs: int = 0
    """End of it."""
    ready_fs: int = 0
    """Out of controller and PHY."""


@dataclass(slots=True)
class Waiter:
    """A reply, atomic or reduction that waits for sectors."""

    reply: Packet
    sectors: int
    """Sectors that it needs and that have not arrived."""
    own: int
    """Those which it fetches itself; for the others it merged with an earlier miss."""
    ready: int
    """Cycle before which it can't leave: its own pass through the pipeline."""
    crosses: bool
    """Whether it goes to the slice in the other partition, not to an SM."""


@dataclass(slots=True)
class MissEntry:
    """An MSHR: a line with sectors on their way."""

    slot: int
    """Where the line will be kept; FREE when its set had no way to give."""
    far: bool
    """Asked of the home slice across the partition link, not of DRAM."""
    entered_fs: int
    pending: int = 0
    stale: int = 0
    """Sectors that were written at their home meanwhile: they serve who waits and are not kept."""
    requests: int = 0
    waiters: list[Waiter] = field(default_factory=list)


@dataclass(slots=True)
class InputQueue:
    """Requests in front of the look-up, and what the head waits for."""

    items: deque[tuple[int, Packet]] = field(default_factory=deque)
    """(time of arrival in fs, packet)."""
    wake: int = 0
    """Cycle before which the head can't be served; NEVER while it waits for an event."""
    cause: int = NOTHING


@dataclass(slots=True)
class SliceState:
    """One slice."""

    sets: int
    ways: int
    reply_credits: list[int]
    """Places in the crossbar for replies within the partition, and for those that cross to the other one."""
    line_of: list[int]
    valid: list[int]
    """Sectors that can be read."""
    dirty: list[int]
    """Sectors that DRAM has older."""
    stamp: list[int]
    owner: list[int]
    """Kernel that last dirtied the line."""
    copied: list[int]
    """At the home: sectors of which the other partition may hold a copy."""
    pinned: list[int]
    """By set: ways whose line is on its way."""
    slot_of: dict[int, int] = field(default_factory=dict)
    use: int = 0
    """Counter of uses: the next LRU stamp."""
    misses: dict[int, MissEntry] = field(default_factory=dict)
    entries: list[int] = field(default_factory=lambda: [0, 0])
    """MSHRs in use: for DRAM, for the partition link."""
    requests: InputQueue = field(default_factory=InputQueue)
    """From SMs."""
    crossings: InputQueue = field(default_factory=InputQueue)
    """From the slice of the other partition."""
    port_free: int = 0
    """First cycle at which the look-up and data port is free."""
    atomic_tenths: int = 0
    """When the atomic unit may start its next request, in tenths of a cycle."""
    leaving: list[tuple[int, int, bool, Packet]] = field(default_factory=list)
    """Heap of replies in the pipeline: (cycle of leaving it, number, crosses, packet)."""
    number: int = 0
    replies: deque[tuple[int, Packet]] = field(default_factory=deque)
    """Out of the pipeline, waiting for port and credit: (number, packet)."""
    crossing_replies: deque[tuple[int, Packet]] = field(default_factory=deque)
    out_free: int = 0
    due: int = NEVER
    """Next cycle with anything to do."""


def make_slice(sets: int, ways: int, reply_credits: list[int]) -> SliceState:
    """An empty slice."""
    slots = sets * ways
    return SliceState(
        sets=sets,
        ways=ways,
        reply_credits=reply_credits,
        line_of=[FREE] * slots,
        valid=[0] * slots,
        dirty=[0] * slots,
        stamp=[0] * slots,
        owner=[0] * slots,
        copied=[0] * slots,
        pinned=[0] * sets,
    )

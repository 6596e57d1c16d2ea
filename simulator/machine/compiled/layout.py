"""The tables of the compiled engine: one record type a thing, every field an integer with a sentence.

The fields are those of `state.py` and its neighbours; where those hold an object or a list, a record holds an
index or the two ends of a chain, −1 for none. Sizes that a card decides are in the tables' lengths, never in
a type, so no card needs compiling. The machine's record holds the card's numbers and the address of each
table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.machine.compiled.jit import WITHOUT_COMPILER, accessor
from simulator.statistics.phases import CROSSBAR_REPLY, CROSSBAR_REQUEST, PHASES, STATES
from simulator.statistics.schema import COUNTERS

PHASE_COUNT = len(PHASES)
AT_L2_MSHR = CROSSBAR_REQUEST - 1
"""Where a packet keeps the time in which it waited for an MSHR of L2: before its phases, which are those from
the crossbar to the crossbar. What it did at L1 its request and its waiter know.
"""
PACKET_PHASES = CROSSBAR_REPLY - AT_L2_MSHR + 1
STATE_BASE = len(COUNTERS)
WIDTH = len(COUNTERS) + len(STATES)
"""Counters and warp states of one kernel."""


DONE, GROW, EDGES = 0, -1, -2
"""Answers of `run` besides errors: the stop is reached; pools or the log have got low; there is no room for
another edge.
"""

LINE_BYTES = 64
"""A cache line of the computer that simulates."""
INTEGER_BYTES = 8
CACHE_LINE = np.dtype((np.void, LINE_BYTES))


def plain(text: str, whole_lines: bool = False) -> np.dtype[Any]:
    """A record type from lines "field sentence": a field is NAME@BYTES:COUNT, of 8 bytes and single where it
    doesn't say otherwise, and starts at a multiple of its bytes.

    Without compiler all are of 8 bytes, since NumPy's narrow integers keep their width in sums.
    Records that are taken one by one from large tables are filled up to whole cache lines, or each would lie
    on one more.
    """
    names, formats, offsets = [], [], []
    size = 0
    for line in text.strip().splitlines():
        field, _, count = line.split()[0].partition(":")
        name, _, width = field.partition("@")
        integer = np.dtype(f"i{width if width and not WITHOUT_COMPILER else 8}")
        size = -(-size // integer.itemsize) * integer.itemsize
        names.append(name)
        formats.append((integer, (int(count),)) if count else integer)
        offsets.append(size)
        size += integer.itemsize * int(count or 1)
    unit = LINE_BYTES if whole_lines else INTEGER_BYTES
    size = -(-size // unit) * unit
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


MESSAGE = plain("""
    key       when it arrives; at the crossbar, its place among those that arrive at once
    line      of a packet: line of memory
    what@4    index of what it is about
    extra@4   of a packet: the requester's name for it; else a second number
    payload@2 of a packet: bytes of data
    sm@2      of a packet: who asks
    slice@2   of a packet: slice that it goes to or comes from
    kind@2    kind of message
""")
ON_ITS_WAY = 1 << 62
"""What the stamp of a cache's line has in addition while sectors of it are on their way: above all others, so
that the line is never the one to go.
"""
PIECE = 16
"""Messages that are taken from their pool at a time."""
TAPE = plain("""
    first   key of the first message, NEVER for none
    last    in a sorted tape: key of the last
    head@4  first message
    tail@4  last message
    none:1  nothing: a record fills half a cache line
""")
NODE = plain(
    """
    next     following entry of a chain or queue
    key      what a heap sorts by: a time
    order    what it sorts by among equal times
    extra    a second number of what it is about
    line     of a packet: line of memory
    what@4   index of what the entry is about
    child@4  heap: first child
    payload@4 of a packet: bytes of data
    kind@4   kind of message or event
    sm@2     of a packet: who asks
    slice@2  of a packet: slice that it goes to or comes from
""",
    whole_lines=True,
)
POOL = plain("""
    given address of the stack of records that have been given back
    count how many
    fresh first record that has never been taken
    end   behind the last of these
    low   how many of both kinds must be left for a turn
""")
"""Free records stand in stacks, so that taking one reads nothing of the record itself, which lies far off."""
QUEUE = plain("""
    head@4  first entry, −1 for none
    tail@4  last entry
    count@4 entries
    spare@4 nothing: a record fills a quarter of a cache line
""")
ORDERED = plain("""
    head@4      first entry, −1 for none
    tail@4      last entry
    count@4     entries
    first       key of the first, NEVER for none
    first_order its order
    last        key of the last
    last_order  its order
""")
"""A sorted queue. Its ends are known without reading their entries, which lie far off."""
METER = plain("""
    inside     items inside now
    changed_fs time of the last change
    area_fs    items inside, integrated over time
    waits_fs   waits of the items that have left, summed
    items      items that have left
""")
COMPONENT = plain("""
    next_fs      time of the next tick
    arrival_fs   when its earliest message but for notices arrives; not kept for the launcher and the crossbar
    notice_fs    when its earliest notice arrives; not kept for these either
    wants_notice whether something waits for one
    ticked_fs    time of the last tick
    sequence     messages sent
""")
PACKET = plain(
    f"""
    line        line of memory
    last_fs     time of the last mark
    kernel@4    kernel that it is charged to
    token@4     the requester's name for it
    payload@2   bytes of data
    sm@2        who asks
    slice@2     slice that it goes to or comes from
    near@2      slice of the requester's own partition
    lanes@2     lanes of an atomic
    operation@1 READ, WRITE, ATOMIC or REDUCE
    sectors@1   mask of its sectors
    full@1      of these, written whole
    phases:{PACKET_PHASES} its life so far, from `AT_L2_MSHR` on
""",
    whole_lines=True,
)

message = accessor(MESSAGE)
tape = accessor(TAPE)
node = accessor(NODE)
pool = accessor(POOL)
queue = accessor(QUEUE)
ordered = accessor(ORDERED)
meter = accessor(METER)
component = accessor(COMPONENT)
packet = accessor(PACKET)

P_NODES, P_PACKETS, P_REQUESTS, P_WAITERS, P_L2_WAITERS, P_MISSES, P_TRANSFERS, P_ARRIVALS, P_MESSAGES = (
    range(9)
)
"""Tables that grow between turns, in the order of their pool records."""

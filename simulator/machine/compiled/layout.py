"""The tables of the compiled engine: one record type a thing, every field a 64-bit integer with a sentence.

The fields are those of `state.py` and its neighbours; where those hold an object or a list, a record holds an
index or the two ends of a chain, −1 for none. Sizes that a card decides are in the tables' lengths, never in
a type, so no card needs compiling. The machine's record holds the card's numbers and the address of each
table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.machine.compiled.jit import accessor
from simulator.statistics.phases import PHASES, STATES
from simulator.statistics.schema import COUNTERS

PHASE_COUNT = len(PHASES)
STATE_BASE = len(COUNTERS)
WIDTH = len(COUNTERS) + len(STATES)
"""Counters and warp states of one kernel."""


DONE, GROW, EDGES = 0, -1, -2
"""Answers of `run` besides errors: the stop is reached; pools or the log have got low; there is no room for
another edge.
"""

LINE_INTEGERS = 8
"""Integers in a cache line of the computer that simulates."""


def plain(text: str, whole_lines: bool = False) -> np.dtype[Any]:
    """A record type from lines "field sentence"; `field:n` is n integers.

    Records that are taken one by one from large tables are filled up to whole cache lines, or each would lie
    on one more.
    """
    fields: list[Any] = []
    size = 0
    for line in text.strip().splitlines():
        name, _, count = line.split()[0].partition(":")
        fields.append((name, np.int64, (int(count),)) if count else (name, np.int64))
        size += int(count or 1)
    if whole_lines and size % LINE_INTEGERS:
        fields.append(("filler", np.int64, (LINE_INTEGERS - size % LINE_INTEGERS,)))
    return np.dtype(fields)


NODE = plain(
    """
    next       following entry of a chain, queue or free list
    key        what a heap sorts by: a time
    order      what it sorts by among equal times
    what       index of what the entry is about
    kind       kind of message or event; of a DRAM request: its pseudo-channel
    extra      a second number of the message; of a DRAM request: its sector
    kernel     kernel that it is charged to
    child      heap: first child
""",
    whole_lines=True,
)
POOL = plain("""
    address    of the table
    stride     integers of one record
    free       first record that has been given back, −1 for none
    fresh      first record that has never been taken
    left       free records of both kinds
    low        how many must be left for a window
""")
SHELF = plain("""
    free       first free record that a component keeps, −1 for none
    count      how many
""")
QUEUE = plain("""
    head       first entry, −1 for none
    tail       last entry
    count      entries
    spare      nothing: a record fills half a cache line
""")
METER = plain("""
    inside     items inside now
    changed_fs time of the last change
    area_fs    items inside, integrated over time
    waits_fs   waits of the items that have left, summed
    items      items that have left
""")
COMPONENT = plain("""
    next_fs      time of the next tick
    ticked_fs    time of the last tick
    period_fs    clock
    sequence     messages sent
""")
PACKET = plain(
    f"""
    next       free list
    operation  READ, WRITE, ATOMIC or REDUCE
    sm         who asks
    line       line of memory
    sectors    mask of its sectors
    full       of these, written whole
    payload    bytes of data
    kernel     kernel that it is charged to
    token      the requester's name for it
    lanes      lanes of an atomic
    last_fs    time of the last mark
    slice      slice that it goes to or comes from
    near       slice of the requester's own partition
    phases:{PHASE_COUNT} its life so far
""",
    whole_lines=True,
)

node = accessor(NODE)
pool = accessor(POOL)
shelf = accessor(SHELF)
queue = accessor(QUEUE)
meter = accessor(METER)
component = accessor(COMPONENT)
packet = accessor(PACKET)

POOLS = ("nodes", "packets", "requests", "waiters", "l2_waiters", "misses", "fetches")
"""Tables that grow between windows, in the order of their pool records."""
P_NODES, P_PACKETS, P_REQUESTS, P_WAITERS, P_L2_WAITERS, P_MISSES, P_FETCHES, P_DRAM = range(8)
"""The last one holds what the queues of DRAM can hold, and never grows."""

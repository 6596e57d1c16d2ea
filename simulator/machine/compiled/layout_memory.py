"""The tables of the memory side: partitions, L2 slices, DRAM channels; see `layout.py` for how to read them.

Times ending in _ck are clocks of a DRAM channel, in _fs femtoseconds; others are cycles of the L2 clock.
"""

from __future__ import annotations

from simulator.machine.compiled.jit import accessor
from simulator.machine.compiled.layout import plain

MOST_BANKS = 64
MOST_GROUPS = 16

PARTITION = plain("""
    due_fs     next memory clock with work
    way_fs     when the first transfer on its way is at its controller
    returned   cycle in which the first sector that has been read is back
    number     entries put on the way to a controller
""")
SLICE = plain("""
    owner@4       component that it belongs to
    unkept@4      first MSHR of a line that is not kept, −1 for none
    number        replies let out of the pipeline
    wake:2        cycle before which the head of an input queue can't be served
    cause:2       why it waits
    port_free     first cycle at which the look-up and data port is free
    atomic_tenths when the atomic unit may start its next request
    out_free      first cycle at which the reply port is free
    due           next cycle with anything to do
    blocked       whether the oldest reply to an SM waits for a credit
    credits:2     places for replies within the partition, and for those that cross
    entries:2     MSHRs in use: for DRAM, for the partition link
    use           counter of uses: the next LRU stamp
""")
L2_LINE = plain("""
    valid@1  sectors that can be read
    dirty@1  sectors that DRAM has older
    copied@1 at the home: sectors of which the other partition may hold a copy
    owner@4  kernel that last dirtied the line
""")
MISS = plain(
    """
    next       following one of those whose lines are not kept
    line       line of memory
    entered_fs when it was opened
    slot       where it will be kept, −1 when its set had no way to give
    first@4    first waiter
    last@4     last waiter
    requests@4 requests that wait or have waited
    far@1      asked of the home slice across the link
    pending@1  sectors on their way
    stale@1    of these, written at their home meanwhile
""",
    whole_lines=True,
)
L2_WAITER = plain("""
    next      following waiter
    ready     cycle before which it can't leave
    reply@4   packet that will answer
    sectors@1 sectors that it needs and that have not arrived
    own@1     those which it fetches itself
    crosses@1 whether it goes to the slice in the other partition
""")
TRANSFER = plain(
    """
    number      age in its channel of its first sector; the others follow
    queued_ck   when it came to its channel
    row         its row
    arrive_fs   at the controller
    line        read: line of memory
    next@4      following one of a queue or of its bank
    before@4    the one before in a sorted queue or of its bank
    waited@4    clocks from then to the first DRAM command for its first sector, −1 before
    entry@4     read: MSHR that waits for it
    kernel@4    kernel that it is charged to
    slice@2     read: slice that asked
    sectors@1   sectors of the line, as a bit mask
    opened@1    what its first sector found: its row open, the bank closed, another row open
    key         what it waits for: a time
    order       place among equal times
    sector      sector 0 of its line, in the pseudo-channel
    where@4     its pseudo-channel
    chain@4     next write-back of a chain of unwritten sectors
    slot@4      read: slot that it goes to, −1 for none
    writes@1    whether it writes
""",
    whole_lines=True,
)
"""Sectors of a line in a row, on their way to DRAM; in one list at a time. All that counts in the queue of a
bank is in the first cache line.
"""
ARRIVAL = plain(
    """
    key         cycle in which it is back at its slice
    order       place among those of the same cycle
    arrive_fs   when its request was at the controller
    first_ck    first DRAM command issued for it
    column_ck   its column command
    next@4      following one
    before@4    the one before
    entry@4     MSHR that waits for it
    kernel@4    kernel that it is charged to
    slice@2     slice that asked
    sector@1    its sector, as a bit
    forwarded@1 whether a write that waited has answered
""",
    whole_lines=True,
)
"""A sector on its way back from DRAM."""
CHANNEL = plain("""
    row_slot        first free slot of the row-command bus
    row_free        the clock that it is in
    requests        requests queued
    arrivals        requests that have come
    tick_ck         last clock that was ticked, or crossed while idle
    refresh_wake    clock of the next work for refresh
    last_column_ck  clock of the last column command
    last_row_ck     clock of the last row command
    waiting         requests in front of its queues
    retry           whether some of these may join them
    due             clock of the next tick
    read            whether a read has been served since the owner last looked
    wrote           whether a write has
""")
PSEUDO = plain(f"""
    next_act         first legal clock of an activate
    next_refresh     of a one-bank refresh
    next_refresh_all of an all-bank refresh
    next_column:2    of a column command, by mode
    last_acts:4      the last four activates, oldest first
    mode             READ or WRITE
    batch            1 while a batch of writes goes on
    bus_mode         direction of the last burst, −1 before the first
    waiting:2        queued requests by mode
    column_wake      no column command before this clock
    row_wake         no row command before this clock
    refresh_due      when the next refresh falls due
    refresh_owed     refreshes put off
    refresh_bank     bank kept for refresh, −1 for none
    refresh_left     banks not yet refreshed in this round, as a bit mask
    refresh_look_ck  when to look for a bank again
    refresh_all      an all-bank refresh is due
    outside          write-backs on their way or in front of the queue
    keys:4           candidates: for column commands by mode, for row commands by mode
    counters:11      as DRAM_COUNTERS
    group_act:{MOST_GROUPS}     first legal clock of an activate in a bank group
    group_refresh:{MOST_GROUPS} of a one-bank refresh
    group_column:{2 * MOST_GROUPS} of a column command: reads, then writes
""")
BANK = plain(
    """
    next_act      first legal clock of an activate
    next_pre      of a precharge
    next_refresh  of a refresh
    next_column:2 of a column command, by mode
    column_key:2  its candidate for a column command, −1 for none
    row_key:2     its candidate for a row command
    open_row      −1 when closed
    head@4:2      oldest of them
    tail@4:2      youngest of them
    hit@4:2       oldest of them for the open row, −1 for none
    waiting@2:2   queued requests by mode
    held@2:8      of these, by mode and two bits of the row
    group@1       its bank group
    reserved@1    chosen for refresh
""",
    whole_lines=True,
)
partition = accessor(PARTITION)
slice_at = accessor(SLICE)
l2_line = accessor(L2_LINE)
miss = accessor(MISS)
l2_waiter = accessor(L2_WAITER)
channel = accessor(CHANNEL)
pseudo = accessor(PSEUDO)
bank_at = accessor(BANK)
transfer_at = accessor(TRANSFER)
arrival_at = accessor(ARRIVAL)

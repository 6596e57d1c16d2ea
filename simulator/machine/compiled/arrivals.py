"""Sectors that DRAM has read, on their way back to the slices that asked for them."""

from __future__ import annotations

from typing import Any

from hwmodels.coalescing import SECTORS_PER_LINE
from simulator.machine.compiled.jit import ahead, compiled, lowest_bit, quotient
from simulator.machine.compiled.layout import P_ARRIVALS
from simulator.machine.compiled.layout_memory import ARRIVAL, L2_LINE, MISS, arrival_at, channel, partition
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.record_queues import sorted_queue
from simulator.machine.state_dram import READ

ask_miss = ahead(MISS)
ask_l2_line = ahead(L2_LINE)
insert_arrival, pull_arrival, first_arrival_key = sorted_queue(ARRIVAL)


@compiled
def done_ck(m: Any, one: Any) -> int:
    """The end of a sector's burst."""
    return one.column_ck + (m.burst_clocks if one.forwarded else m.data_clocks[READ])


@compiled
def bring(m: Any, ch: int, request: Any, sector: int, first: int, column: int, forwarded: int) -> None:
    """The burst of a sector of a transfer is known: send it on its way back."""
    entry = take(m, P_ARRIVALS)
    one = arrival_at(m.arrivals, entry)
    one.arrive_fs = request.arrive_fs
    one.first_ck = first
    one.column_ck = column
    one.entry = request.entry
    one.kernel = request.kernel
    one.slice = request.slice
    one.sector = sector
    one.forwarded = forwarded
    out_fs = done_ck(m, one) * m.clock_fs + m.controller_fs
    cycle = -(-out_fs // m.l2_period_fs) + m.back_cycles
    part = quotient(ch, m.part_channels)
    order = SECTORS_PER_LINE * request.line - lowest_bit(sector)
    insert_arrival(m, m.arrivals, m.q_returned + part, entry, cycle, order)
    own = partition(m.partitions, part)
    own.returned = min(own.returned, cycle)
    channel(m.channels, ch).read = 1
    ask_miss(m.misses, request.entry)
    ask_l2_line(m.l2_lines, request.slot)

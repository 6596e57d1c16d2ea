"""The run: components advance in windows, as long as no message can reach them within.

A window begins with the earliest tick that is booked and lasts as long as the shortest link, but not beyond
the stop or the edge of an interval: all ticks before those are then done, and none after. Nothing of the
hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import launcher, partition, sm
from simulator.machine.compiled.dram_refresh import start
from simulator.machine.compiled.jit import compiled, entry, invoke, load, store
from simulator.machine.compiled.layout import WIDTH, component, pool
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.order import NEVER

DONE, GROW, EDGES = 0, -1, -2
"""Answers of `run` besides errors: the stop is reached; pools or the log have got low; there is no room for
another edge.
"""


@compiled
def _tick(m: Any, ident: int, now_fs: int) -> None:
    if ident == 0:
        invoke(m.unit_launcher, m.here, ident, now_fs)
    elif ident < m.crossbar:
        invoke(m.unit_sm, m.here, ident, now_fs)
    elif ident == m.crossbar:
        invoke(m.unit_crossbar, m.here, ident, now_fs)
    else:
        invoke(m.unit_partition, m.here, ident, now_fs)


@compiled
def _settle(m: Any, now_fs: int) -> None:
    for number in range(m.sms):
        sm.settle(m, number, now_fs // m.sm_period_fs)


@compiled
def _close_edge(m: Any) -> None:
    """Store the counters at the edge of an interval."""
    _settle(m, m.next_edge_fs)
    size = m.kernels * WIDTH
    for place in range(size):
        store(m.snapshots, m.edges * size + place, load(m.counts, place))
    m.edges += 1
    m.next_edge_fs += m.interval_fs


@compiled
def _is_low(m: Any) -> bool:
    for number in range(m.pool_count):
        one = pool(m.pools, number)
        if one.left < one.low:
            return True
    return m.keep_requests != 0 and m.finished_room - m.finished_count < m.finished_low


@compiled
def _next(m: Any) -> int:
    following = NEVER
    for ident in range(m.component_count):
        following = min(following, component(m.components, ident).next_fs)
    return following


@entry
def next_fs(here: int) -> int:
    """The time of the next tick of any component; NEVER when nothing is booked."""
    return _next(machine_at(here, 0))


@entry
def run(here: int, until_fs: int) -> int:
    """Do all that is due before `until_fs` and nothing after."""
    m = machine_at(here, 0)
    while True:
        now_fs = _next(m)
        if now_fs >= until_fs:
            return DONE
        while m.next_edge_fs <= now_fs:
            if m.edges == m.edge_room:
                return EDGES
            _close_edge(m)
        if _is_low(m):
            return GROW
        m.window_from_fs = now_fs
        end_fs = min(now_fs + m.window_fs, until_fs, m.next_edge_fs)
        for ident in range(m.component_count):
            m.current = ident * m.pool_count
            own = component(m.components, ident)
            while own.next_fs < end_fs:
                own.ticked_fs = own.next_fs
                _tick(m, ident, own.next_fs)
        if m.error:
            return m.error


@entry
def close(here: int, now_fs: int) -> None:
    """The run is over: account what lasts until now, and what stays dirty."""
    m = machine_at(here, 0)
    _settle(m, now_fs)
    for number in range(m.sms):
        sm.close(m, number, now_fs // m.sm_period_fs)
    for ident in range(m.first_partition, m.component_count):
        partition.close(m, ident, now_fs)


@entry
def preload(here: int, first_line: int, last_line: int) -> None:
    """Put lines into L2 at their homes, as of time 0 without traffic."""
    partition.preload(machine_at(here, 0), first_line, last_line)


@entry
def begin(here: int) -> None:
    """Before time 0: the first refreshes, and the first kernel of each stream."""
    m = machine_at(here, 0)
    for ch in range(m.channel_count):
        start(m, ch)
    for stream in range(m.streams):
        launcher.schedule(m, load(m.stream_current, stream), 0, 0, -m.host_fs)

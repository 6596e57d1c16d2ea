"""The run: components advance in windows, as long as no message can reach them within.

A window begins with the earliest tick that is booked and lasts as long as the shortest link, but not beyond
the stop or the edge of an interval: all ticks before those are then done, and none after. Nothing of the
hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import launcher, partition, sm
from simulator.machine.compiled.dram_refresh import start
from simulator.machine.compiled.jit import compiled, inlined, invoke, load, store
from simulator.machine.compiled.layout import DONE, EDGES, GROW, WIDTH, component, pool
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.order import NEVER


@inlined
def _unit(m: Any, ident: int) -> int:
    """The unit of a component."""
    if ident == 0:
        return m.unit_launcher
    if ident < m.crossbar:
        return m.unit_sm
    return m.unit_crossbar if ident == m.crossbar else m.unit_partition


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


def next_fs(here: int, _a: int, _b: int) -> int:
    """The time of the next tick of any component; NEVER when nothing is booked."""
    return _next(machine_at(here, 0))


def run(here: int, until_fs: int, _b: int) -> int:
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
            if component(m.components, ident).next_fs < end_fs:
                invoke(_unit(m, ident), m.here, ident, end_fs)
        if m.error:
            return m.error


def close(here: int, now_fs: int, _b: int) -> int:
    """The run is over: account what lasts until now, and what stays dirty."""
    m = machine_at(here, 0)
    _settle(m, now_fs)
    for number in range(m.sms):
        sm.close(m, number, now_fs // m.sm_period_fs)
    for ident in range(m.first_partition, m.component_count):
        partition.close(m, ident, now_fs)
    return 0


def preload(here: int, first_line: int, last_line: int) -> int:
    """Put lines into L2 at their homes, as of time 0 without traffic."""
    partition.preload(machine_at(here, 0), first_line, last_line)
    return 0


def begin(here: int, _a: int, _b: int) -> int:
    """Before time 0: the first refreshes, and the first kernel of each stream."""
    m = machine_at(here, 0)
    for ch in range(m.channel_count):
        start(m, ch)
    for stream in range(m.streams):
        launcher.schedule(m, load(m.stream_current, stream), 0, 0, -m.host_fs)
    return 0

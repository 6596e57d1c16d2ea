"""The latency of a finished request: added up by kernel, class and phase; kept one by one where all are."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import PHASE_COUNT
from simulator.machine.compiled.layout_sm import finished_at, instruction, request_at
from simulator.statistics.phases import ACCESS_CLASSES

CLASSES = len(ACCESS_CLASSES)
LOG_OVERFLOW = 103
"""Error: more requests finished in one turn than the log had room for."""


@compiled
def _log(m: Any, asked: int, access_class: int, finish_fs: int) -> None:
    """Keep a finished request."""
    if m.finished_count >= m.finished_room:
        m.error = LOG_OVERFLOW
        return
    request = request_at(m.requests, asked)
    one = finished_at(m.finished, m.finished_count)
    m.finished_count += 1
    one.kernel = request.kernel
    one.sm = request.sm
    one.slot = request.slot
    one.access_class = access_class
    one.issue_fs = request.issue * m.sm_period_fs
    one.finish_fs = finish_fs
    for phase in range(PHASE_COUNT):
        one.phases[phase] = request.phases[phase]


@inlined
def add_up(m: Any, request: Any, access_class: int, latency_fs: int, life: Any) -> None:
    """Account a request of some latency, spent in these phases."""
    place = request.kernel * CLASSES + access_class
    store(m.request_counts, place, load(m.request_counts, place) + 1)
    store(m.latencies, place, load(m.latencies, place) + latency_fs)
    first = place * PHASE_COUNT
    for phase in range(PHASE_COUNT):
        store(m.phase_sums, first + phase, load(m.phase_sums, first + phase) + life[phase])


@compiled
def record(m: Any, asked: int, cycle: int) -> int:
    """Account a request that ends in this cycle, if that has not been done; its latency in femtoseconds."""
    request = request_at(m.requests, asked)
    latency_fs = (cycle - request.issue) * m.sm_period_fs
    access_class = instruction(m.instructions, request.inst).access_class
    if access_class >= 0 and not request.counted:
        add_up(m, request, access_class, latency_fs, request.phases)
        if m.keep_requests:
            _log(m, asked, access_class, cycle * m.sm_period_fs)
    return latency_fs

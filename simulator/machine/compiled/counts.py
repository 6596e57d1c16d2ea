"""Counters by kernel, and the latency record that a packet carries.

The components add to one table, since no turn reaches over the edge of an interval: at an edge all
have done what came before it and nothing after. Nothing of the hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import inlined, load, store
from simulator.machine.compiled.layout import AT_L2_MSHR, WIDTH


@inlined
def count(m: Any, kernel: int, counter: int, amount: int) -> None:
    """Add to a counter or a warp state of a kernel."""
    place = kernel * WIDTH + counter
    store(m.counts, place, load(m.counts, place) + amount)


@inlined
def mark(one: Any, phase: int, now_fs: int) -> None:
    """Charge the time since a packet's last mark to a phase."""
    one.phases[phase - AT_L2_MSHR] += now_fs - one.last_fs
    one.last_fs = now_fs

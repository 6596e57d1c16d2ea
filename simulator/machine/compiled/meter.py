"""Little's law at a queue, counted in two unconnected ways, as the reference engine's meter does."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import inlined
from simulator.machine.compiled.layout import meter


@inlined
def enter(m: Any, which: int, now_fs: int) -> None:
    """An item enters."""
    one = meter(m.meters, which)
    one.area_fs += one.inside * (now_fs - one.changed_fs)
    one.changed_fs = now_fs
    one.inside += 1


@inlined
def leave(m: Any, which: int, now_fs: int, entered_fs: int) -> None:
    """An item leaves that entered at `entered_fs`."""
    one = meter(m.meters, which)
    one.area_fs += one.inside * (now_fs - one.changed_fs)
    one.changed_fs = now_fs
    one.inside -= 1
    one.waits_fs += now_fs - entered_fs
    one.items += 1

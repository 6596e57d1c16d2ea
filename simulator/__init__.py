"""Kernel traces, what makes them, the machine that replays them in time, and the statistics of a replay.

The middle floor: it may use `hwmodels`, and never `experiments`. The public names are loaded when first
asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.replay import replay
    from simulator.statistics.result import Result
    from simulator.trace.builder import KernelBuilder
    from simulator.trace.schema import KernelTrace

__all__ = ["KernelBuilder", "KernelTrace", "Result", "replay"]

_HOMES = {
    "KernelBuilder": "simulator.trace.builder",
    "KernelTrace": "simulator.trace.schema",
    "Result": "simulator.statistics.result",
    "replay": "simulator.machine.replay",
}


def __getattr__(name: str) -> object:
    """Find a public name in its module, at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

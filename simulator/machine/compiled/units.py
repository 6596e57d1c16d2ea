"""The units of the engine: functions of the machine's address and two integers that others call by address.

They are built in groups, each into one object file, side by side; what a group contains is optimised
together.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

Unit = Callable[[int, int, int], int]

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "processors": {
        "unit_launcher": ("launcher", "turn"),
        "unit_sm": ("sm", "turn"),
    },
    "memory": {
        "unit_crossbar": ("crossbar", "turn"),
        "unit_partition": ("partition", "turn"),
    },
    "whole": {
        "unit_run": ("machine", "run"),
        "unit_work": ("machine", "work"),
        "unit_next": ("machine", "next_fs"),
        "unit_close": ("machine", "close"),
        "unit_begin": ("machine", "begin"),
        "unit_preload": ("machine", "preload"),
    },
}
"""By group and name: the file and the function."""


def functions(group: str) -> dict[str, Unit]:
    """The functions of a group by name."""
    return {
        name: getattr(import_module(f"simulator.machine.compiled.{file}"), function)
        for name, (file, function) in GROUPS[group].items()
    }

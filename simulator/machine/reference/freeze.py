"""Writes down and puts back the state of the reference engine: all units and records, between two ticks.

SimPy's own state is not kept: a component's process only waits for its bell, so it is rebuilt by booking each
component's next tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.machine.checkpoint.graph import Constants, Reader, Writer, units_of
from simulator.machine.order import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulator.machine.reference.engine import Machine


def freeze(machine: Machine) -> dict[str, Any]:
    """The state of a machine that has stopped between ticks."""
    constants = Constants(machine.traces, machine.programs)
    return Writer(units_of(list(machine.components)), constants).write()


def thaw(machine: Machine, state: Mapping[str, Any]) -> None:
    """Put a state into a machine that was built from the same card, traces and options and has not run."""
    constants = Constants(machine.traces, machine.programs)
    Reader(units_of(list(machine.components)), constants, state).read()
    for component in machine.components:
        following, component.booked_fs = component.booked_fs, NEVER
        if following < NEVER:
            component.book(following)

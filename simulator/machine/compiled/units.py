"""The units of the engine that are compiled each by itself, as functions that are called by address."""

from __future__ import annotations

from functools import cache

from simulator.machine.compiled import crossbar, launcher, lsu, memory_front, partition, sm, sub_core
from simulator.machine.compiled.jit import unit
from simulator.machine.compiled.layout_machine import machine_at


def _launcher(here: int, ident: int, now_fs: int) -> int:
    launcher.tick(machine_at(here, 0), ident, now_fs)
    return 0


def _sm(here: int, ident: int, now_fs: int) -> int:
    sm.tick(machine_at(here, 0), ident, now_fs)
    return 0


def _crossbar(here: int, _ident: int, now_fs: int) -> int:
    crossbar.tick(machine_at(here, 0), now_fs)
    return 0


def _partition(here: int, ident: int, now_fs: int) -> int:
    partition.tick(machine_at(here, 0), ident, now_fs)
    return 0


def _lsu(here: int, sm_number: int, cycle: int) -> int:
    lsu.step(machine_at(here, 0), sm_number, cycle)
    return 0


def _sub_core(here: int, sub: int, cycle: int) -> int:
    sub_core.step(machine_at(here, 0), sub, cycle)
    return 0


def _memory(here: int, part: int, ck: int) -> int:
    return memory_front.tick(machine_at(here, 0), part, ck)


@cache
def unit_addresses() -> dict[str, int]:
    """Fields of the machine's record that hold the units' addresses."""
    return {
        "unit_launcher": unit(_launcher),
        "unit_sm": unit(_sm),
        "unit_crossbar": unit(_crossbar),
        "unit_partition": unit(_partition),
        "unit_lsu": unit(_lsu),
        "unit_sub_core": unit(_sub_core),
        "unit_memory": unit(_memory),
    }

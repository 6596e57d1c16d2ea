"""The engine's code in a running process: built where it is missing, loaded, and called by address.

Groups of units are built side by side, each by a process of its own, so that neither the compiler's memory
nor its time falls on the process that replays. Without compiler the units are the functions themselves.
"""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hwmodels.errors import ResultError
from simulator.machine.compiled import cache as kept
from simulator.machine.compiled import jit
from simulator.machine.compiled.units import GROUPS, functions
from simulator.processors import processors

LOG = logging.getLogger(__name__)
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Code:
    """The units of the engine by name."""

    def __init__(
        self, addresses: dict[str, int], callables: dict[str, Callable[..., int]], keep: Any
    ) -> None:
        self.addresses = {name: addresses[name] for name in addresses if name in NAMED}
        """Fields of the machine's record."""
        self.callables = callables
        self.keep = keep
        """What the code lives in."""

    def call(self, name: str, here: int, a: int = 0, b: int = 0) -> int:
        """Call a unit."""
        return int(self.callables[name](int(here), int(a), int(b)))


NAMED = ("unit_launcher", "unit_sm", "unit_crossbar", "unit_partition")
"""Units that other units call."""


@cache
def code() -> Code:
    """The engine's code, built if need be."""
    if jit.WITHOUT_COMPILER:
        return _plain()
    files = kept.object_files()
    missing = {group: path for group, path in files.items() if not path.exists()}
    if missing:
        LOG.warning("compiling the engine for this version, once: about a minute")
        _build(missing)
    return _load(list(files.values()))


def _plain() -> Code:
    callables: dict[str, Callable[..., int]] = {}
    addresses = {}
    for group in GROUPS:
        for name, function in functions(group).items():
            addresses[name] = len(jit.units)
            jit.units.append(function)
            callables[name] = function
    return Code(addresses, callables, None)


def _build(missing: dict[str, Path]) -> None:
    """Build groups, as many at once as there are processors."""
    environment = os.environ | {
        "STALLSCOPE_BUILDS_ENGINE": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    waiting = list(missing.items())
    running: list[tuple[str, subprocess.Popen[str]]] = []
    done = 0
    while waiting or running:
        while waiting and len(running) < processors():
            group, path = waiting.pop(0)
            command = [sys.executable, "-m", "simulator.machine.compiled.build", group, str(path)]
            process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
            running.append((group, process))
        group, process = running.pop(0)
        _, words = process.communicate()
        if process.returncode:
            for _, other in running:
                other.kill()
            last = (words.strip().splitlines() or ["no message"])[-1]
            raise ResultError(
                "compiled engine", f"building {group} failed: {last}", "use the reference engine"
            )
        if words:
            LOG.info(words.strip())
        done += 1
        LOG.warning("compiled %d of %d parts", done, len(missing))


@cache
def yielding_address() -> int:
    """The address of the system's function that leaves the processor to others."""
    if sys.platform == "win32":
        function = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _load(files: list[Path]) -> Code:
    import llvmlite.binding as ll

    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    machine = ll.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    engine = ll.create_mcjit_compiler(ll.parse_assembly(""), machine)
    for path in files:
        engine.add_object_file(ll.ObjectFileRef.from_data(path.read_bytes()))
    engine.finalize_object()
    addresses = {}
    callables: dict[str, Callable[..., int]] = {}
    for group in GROUPS.values():
        for name in group:
            addresses[name] = engine.get_function_address(name)
            callables[name] = SIGNATURE(addresses[name])
    return Code(addresses, callables, engine)

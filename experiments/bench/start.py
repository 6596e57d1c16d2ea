"""How long a person waits for a first result: the command line from its start to its last line, on a small
kernel, with whatever the engine compiles and keeps.

Cold means an empty cache of compiled code (a temporary folder stands for the user's); warm means a second
call. Library start-up is part of both. Only engines that keep compiled code differ between the two.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from experiments.bench.cases import CARD
from hwmodels.errors import ResultError

TRACE = "kernel:copy,megabytes=0.25"
PROGRAM = "import sys; from experiments.cli import main; sys.exit(main(sys.argv[1:]))"
CACHE_VARIABLES = ("HOME",) if sys.platform == "darwin" else ("XDG_CACHE_HOME", "LOCALAPPDATA")
"""What decides where the user's cache folder is."""


@dataclass(frozen=True, slots=True)
class Start:
    """One call of the command line."""

    engine: str
    start: str
    """cold or warm."""
    wall_seconds: float
    cpu_seconds: float


def measure_starts(engine: str, *, cold: bool) -> list[Start]:
    """A warm start; before it a cold one if asked for, in a cache of its own."""
    if not cold:
        return [_start(engine, "warm", {})]
    with tempfile.TemporaryDirectory(prefix="stallscope-bench-") as folder:
        cache = dict.fromkeys(CACHE_VARIABLES, folder)
        return [_start(engine, state, cache) for state in ("cold", "warm")]


def _start(engine: str, state: str, variables: dict[str, str]) -> Start:
    command = [sys.executable, "-c", PROGRAM, "replay", TRACE, "--gpu", CARD, "--engine", engine, "--json"]
    wall, cpu = time.perf_counter(), _children_seconds()
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise ResultError(f"bench, {state} start of the {engine} engine", last)
    return Start(engine, state, time.perf_counter() - wall, _children_seconds() - cpu)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

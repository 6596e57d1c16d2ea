"""A sweep of tiny replays in a process of its own, which tests start, interrupt and kill."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from experiments.cli import main
sys.exit(main())
"""
"""Hears Ctrl-C as in a terminal; what runs in the background of a script has been told to ignore it."""
CONFIG = """
engine: reference
name: tiny
gpu: [v100-sxm2-16gb]
set: {{gpu.scale: 1/16}}
workload: {{kernels: [{{name: copy, megabytes: 0.00390625}}]}}
intervals: {{cycles: 0}}
sweep: {{gpu.clock_mhz: [{clocks}]}}
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*words: str) -> subprocess.Popen[str]:
    """A sweep in its own process group, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "sweep", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stored(folder: Path) -> int:
    """How many replays a store has."""
    path = folder / "store.sqlite"
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=30)
    try:
        (count,) = connection.execute("SELECT count(*) FROM results WHERE state = 'done'").fetchone()
    except sqlite3.OperationalError:
        return 0  # the table is not there yet
    finally:
        connection.close()
    return int(count)


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def table(folder: Path) -> bytes:
    """The table of a sweep, sorted."""
    return b"".join(sorted((folder / "sweep.csv").read_bytes().splitlines(keepends=True)))

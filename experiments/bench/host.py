"""What the figures depend on besides the program: the computer, the versions, the memory of this process."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import sys
from pathlib import Path

from experiments.summary import versions

STATUS = Path("/proc/self/status")
PROCESSORS = Path("/proc/cpuinfo")


def peak_memory_mb() -> float:
    """The most memory that this process has held, in MB of 2^20 bytes.

    Linux's `ru_maxrss` starts at what the parent held when it made this process; the status file does not.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    bytes_a_unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_a_unit / (1 << 20)


def processor() -> str:
    """The processor's name."""
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def host() -> dict[str, str | int | float]:
    """One flat row about the computer and the versions."""
    found = versions()
    try:
        found["numba"] = importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        found["numba"] = ""
    return {
        **{name: found[name] for name in ("stallscope", "python", "numpy", "simpy", "numba")},
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 2),
    }

"""Where compiled code is kept: in the user's cache folder, under the digest of everything that it was made
from.

numba doesn't notice an edit of a function in another file, so code that was kept for other sources must never
be found: the folder's name is the digest of the sources and of the libraries' versions. Several processes may
compile into one folder at once; each file there appears whole.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = (
    "hwmodels/**/*.py",
    "simulator/machine/compiled/*.py",
    "simulator/machine/messages.py",
    "simulator/machine/order.py",
    "simulator/machine/program.py",
    "simulator/machine/state*.py",
    "simulator/machine/reference/l1.py",
    "simulator/machine/reference/launcher.py",
    "simulator/statistics/phases.py",
    "simulator/statistics/record.py",
    "simulator/statistics/schema.py",
    "simulator/trace/cursor.py",
    "simulator/trace/expression.py",
    "simulator/trace/flat.py",
    "simulator/trace/schema.py",
)
"""Files that compiled code takes rules or constants from."""
LIBRARIES = ("numba", "llvmlite", "numpy")
MARK = "complete"


def user_folder() -> Path:
    """The platform's folder for what a program may make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def digest() -> str:
    """The digest of sources and versions."""
    hashed = hashlib.sha256()
    for name in (*LIBRARIES, platform.python_version(), platform.machine()):
        hashed.update(f"{name} {version(name) if name in LIBRARIES else ''}\n".encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:24]


def folder() -> Path:
    """The folder for the present sources."""
    return user_folder() / "stallscope" / "compiled" / digest()


def is_cold(place: Path) -> bool:
    """Whether nothing has been compiled into a folder to the end."""
    return not (place / MARK).exists()


def mark_warm(place: Path) -> None:
    """Note that all has been compiled into a folder."""
    if place.is_dir():
        (place / MARK).touch()

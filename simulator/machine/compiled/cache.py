"""Where compiled code is kept: in the user's cache folder, under the digest of all that it was made from.

Code that was made from other sources must never be found: a file's name holds the digest of the sources that
its group of units takes functions or constants from, of the libraries' versions and of the processor. Which
sources those are is followed through their imports. Several processes may build at once; each file appears
whole.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from simulator.machine.compiled.units import GROUPS

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "simulator.machine.compiled"
SOURCES = (
    "hwmodels/**/*.py",
    "simulator/machine/**/*.py",
    "simulator/statistics/*.py",
    "simulator/trace/*.py",
)
"""Files among which compiled code finds all rules and constants; while none changes, nothing is followed."""
BUILDERS = ("jit", "numba_names", "build", "units")
"""Files of the engine that every group depends on."""
NEVER_COMPILED = ("hwmodels/errors.py",)
"""Files that rules' files import from, and of which nothing reaches compiled code."""
LIBRARIES = ("numba", "llvmlite", "numpy")


def user_folder() -> Path:
    """The platform's folder for what a program may make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def folder() -> Path:
    """The folder of compiled code."""
    return user_folder() / "stallscope" / "compiled"


def _processor() -> str:
    import llvmlite.binding

    features = llvmlite.binding.get_host_cpu_features().flatten()
    return f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()} {features}"


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def _meaning_of(path: Path) -> bytes:
    """What a file says to the compiler: comments, texts that stand alone and the layout of lines left out."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return ast.dump(tree).encode()


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


def digest_of(files: list[Path], content: Callable[[Path], bytes] = _bytes_of) -> str:
    """The digest of files, of versions and of the processor."""
    hashed = hashlib.sha256(f"{platform.python_version()} {_processor()}\n".encode())
    for name in LIBRARIES:
        hashed.update(f"{name} {version(name)}\n".encode())
    for path in files:
        hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + content(path))
    return hashed.hexdigest()[:24]


def all_sources() -> list[Path]:
    """Every file that could matter."""
    return sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))


def imported(path: Path) -> set[Path]:
    """Files of the project that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            place = ROOT / (name.replace(".", "/") + ".py")
            if place.exists() and place.is_relative_to(ROOT):
                found.add(place)
    return found


def sources_of(group: str) -> list[Path]:
    """The files that the code of a group is made from: of the engine and of the rules whatever is imported,
    of others those that the engine imports from.
    """
    own = ROOT / PACKAGE.replace(".", "/")
    left = [own / f"{file}.py" for file, _ in GROUPS[group].values()]
    left += [own / f"{name}.py" for name in BUILDERS]
    found = set(left)
    while left:
        path = left.pop()
        if path.parent == own or path.is_relative_to(ROOT / "hwmodels"):
            more = imported(path) - found
            found |= more
            left += more
    return sorted(found - {ROOT / name for name in NEVER_COMPILED})


def object_files() -> dict[str, Path]:
    """By group, the file that its code is or will be in."""
    place = folder()
    index = place / f"{digest_of(all_sources())}.json"
    try:
        names = json.loads(index.read_text())
    except (OSError, ValueError):
        names = {group: f"{group}-{digest_of(sources_of(group), _meaning_of)}.o" for group in GROUPS}
        place.mkdir(parents=True, exist_ok=True)
        part = index.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(names))
        part.replace(index)
    return {group: place / name for group, name in names.items()}

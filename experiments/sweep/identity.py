"""The digest of everything that decides the result of one replay: the key under which a sweep's store keeps
it.

It covers the card's resolved numbers, every key of the config that reaches the replay, the variant, the
content of files that the workload names, and the program's own sources. Labels (the experiment's and the
card's name, where a file lies) stay outside: equal work has one key, and a changed card, trace or program
another.
"""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config import Config
from simulator.sources import digest_of

if TYPE_CHECKING:
    from hwmodels import Gpu

SOURCES = ("hwmodels/**/*.py", "simulator/**/*.py", "experiments/workload.py", "experiments/sweep/row.py")
LIBRARIES = ("numpy", "onnx")
LABELS = ("name", "gpu", "set", "fusion", "sweep", "workload.onnx", "workload.traces", "threads")
"""Keys of a config that are in the digest by what they name (cards, variant, files), or not at all: threads
change no number."""
NAMED = "kernel:"


def key_of(config: Config, gpu: Gpu, variant: str) -> str:
    """The key of one replay. An InputError for a file that can't be read."""
    document = {
        "card": gpu.digest(),
        "variant": variant,
        "config": {key: value for key, value in config.values.items() if key not in LABELS},
        "files": files_of(config),
        "model": model_version(),
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


@functools.cache
def model_version() -> str:
    """The digest of the sources that results depend on, as they were when first asked."""
    return digest_of(SOURCES, *(f"{name} {version(name)}" for name in LIBRARIES))


def files_of(config: Config) -> list[Any]:
    """What stands for the workload's files: their digests; a named kernel stands for itself."""
    if config["workload.onnx"] is not None:
        return [_digest(_model_file(config["workload.onnx"]))]
    return [
        text if text.startswith(NAMED) else [_digest(path) for path in _trace_files(text)]
        for text in config["workload.traces"] or ()
    ]


def _model_file(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".onnx" or path.exists():
        return path
    from simulator.workload.onnx_import import light_models

    return light_models().get(name, path)


def _trace_files(text: str) -> list[Path]:
    """A trace's file; of a traced run its list and the kernels that it names."""
    path = Path(text)
    if path.suffix != ".g":
        return [path]
    from simulator.trace.accelsim.kernelslist import read_list

    return [path, *read_list(path).kernels]


def _digest(path: Path) -> str:
    """The digest of a file's content, read again only when the file has changed."""
    try:
        state = path.stat()
        return _content(str(path.absolute()), state.st_size, state.st_mtime_ns)
    except OSError:
        # Whoever reads the file next says what is wrong with it, and better.
        return f"no file {path}"


@functools.lru_cache(maxsize=4096)
def _content(path: str, _size: int, _modified_ns: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

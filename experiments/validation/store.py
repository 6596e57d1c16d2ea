"""Answers of replays, kept on disk: a second validation of the same card by the same model replays nothing.

An answer's place is the digest of the card's numbers, of the sources that decide results, and of the
request. The compiled engine is left out of it, since tests hold it equal to the reference. A file appears
whole or not at all; one that cannot be read is as good as none.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, lru_cache
from pathlib import Path

from experiments.validation.request import Request
from hwmodels import Gpu
from simulator.machine.compiled.cache import user_folder
from simulator.sources import digest_of
from simulator.statistics.files import write_text

SOURCES = (
    "hwmodels/**/*.py",
    "simulator/machine/*.py",
    "simulator/machine/reference/*.py",
    "simulator/statistics/*.py",
    "simulator/trace/**/*.py",
    "simulator/workload/**/*.py",
    "experiments/probes/*.py",
    "experiments/validation/*replays.py",
    "experiments/validation/*kernels.py",
    "experiments/validation/graphs.py",
    "experiments/validation/machine.py",
)


@cache
def model_version() -> str:
    """The digest of everything that an answer depends on beside the card."""
    return digest_of(SOURCES)[:24]


def folder() -> Path:
    """Where answers are kept."""
    return user_folder() / "stallscope" / "answers"


@lru_cache(maxsize=256)
def _card(gpu: Gpu) -> str:
    """The digest of a card's numbers."""
    return gpu.digest()


def place_of(wanted: Request, gpu: Gpu) -> Path:
    """The file of an answer."""
    what = json.dumps([_card(gpu), wanted.replay, wanted.parameters])
    return folder() / model_version() / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.json"


def kept(wanted: Request, gpu: Gpu) -> float | None:
    """The answer, None where there is none."""
    try:
        return float(json.loads(place_of(wanted, gpu).read_text(encoding="utf-8"))["answer"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(wanted: Request, gpu: Gpu, answer: float) -> None:
    """Keep an answer; a disk that cannot be written to only costs time."""
    path = place_of(wanted, gpu)
    document = {"answer": answer, "card": gpu.name, "replay": wanted.replay, **dict(wanted.parameters)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document))
    except OSError:
        return

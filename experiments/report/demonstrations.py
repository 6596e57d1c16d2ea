"""demonstrations.json: what the page's demonstrations need beyond the results, simulated when it is
missing.

Two things: the windows of the longest chain, and strategies that the config did not ask for but the
comparison of vertical with horizontal fusion needs. They are kept in the folder under the digest of what
decides them, so that a second report is quick and one of changed results is never wrong.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.folder import finite
from experiments.report.motion import motion
from experiments.report.windows import REFERENCE_INSTRUCTIONS, windows
from experiments.summary import digest
from experiments.sweep.identity import key_of
from hwmodels.errors import InputError, ResultError
from simulator.statistics.files import write_text

if TYPE_CHECKING:
    from experiments.config import Config
    from experiments.report.graphs import Behind
    from hwmodels import Gpu
    from simulator.statistics.result import Result

FILE_NAME = "demonstrations.json"
FORMAT = 1
MOST_BYTES = 100_000_000
COMPARED = ("none", "vertical", "horizontal", "vertical-then-horizontal")
"""Strategies that the third demonstration sets side by side where this version has them."""
Report = Callable[[float, int], None]


def demonstrations(
    folder: Path,
    results: Sequence[Result],
    found: Behind,
    gpu: Gpu | None,
    seconds: float,
    report: Report | None = None,
) -> dict[str, Any]:
    """The document for the first card of a folder; `seconds` of 0 takes only what is kept already."""
    empty: dict[str, Any] = {"windows": None, "others": [], "why_not": found.why_not}
    if found.config is None or not found.parts:
        return empty
    if gpu is None:
        return {**empty, "why_not": "The folder has no card to replay on."}
    there = sorted(one.variant for one in results if one.card.name == gpu.name)
    key = digest({"work": key_of(found.config, gpu, "demonstrations"), "variants": there, "format": FORMAT})
    kept = _kept(folder / FILE_NAME, key)
    if kept is not None:
        return kept
    if seconds <= 0:
        return {**empty, "why_not": "Nothing was simulated for this page (--no-simulation)."}
    until = time.monotonic() + seconds
    others = list(_others(found.config, results, gpu, seconds / 2))
    made = windows(found.config, found.parts, gpu, max(0.0, until - time.monotonic()), report)
    document: dict[str, Any] = finite(
        {"key": key, "windows": made, "others": [motion(one) for one in others], "why_not": ""}
    )
    write_text(folder / FILE_NAME, json.dumps(document, allow_nan=False) + "\n")
    return document


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    """What an earlier report simulated, if it is of the same config, card and version."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("key") != key:
        return None
    return document


def _others(config: Config, results: Sequence[Result], gpu: Gpu, seconds: float) -> list[Result]:
    """Strategies to compare that the folder lacks, replayed; one that this version lacks is left out."""
    from experiments.config import make_config
    from experiments.run import Limits, replay_variant
    from experiments.workload import variant_names

    there = {one.variant for one in results if one.card.name == gpu.name}
    made = []
    until = time.monotonic() + seconds
    small = max(one.warp_instructions for one in results) <= REFERENCE_INSTRUCTIONS
    engine = "reference" if small else "compiled"
    for name in COMPARED:
        left = until - time.monotonic()
        if name in there or left <= 0:
            continue
        values = {**config.values, "fusion": [name], "gpu": [gpu.name], "set": {}, "engine": engine}
        try:
            own = make_config({key: _listed(value) for key, value in values.items()}, config.place)
            variant_names(own)
            result = replay_variant(own, gpu, name, Limits(seconds=left))
        except (InputError, ResultError):
            continue
        if not result.partial:
            made.append(result)
    return made


def _listed(value: Any) -> Any:
    """Values of a config as a file has them: lists, not tuples."""
    return [_listed(one) for one in value] if isinstance(value, tuple) else value

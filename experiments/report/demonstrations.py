"""demonstrations.json: what the page's demonstrations need beyond the results, simulated when it is
missing.

Two things: the windows of the longest chain, and strategies that the config did not ask for but the
comparison of vertical with horizontal fusion needs. They are kept in the folder under the digest of what
decides them, so that a second report is quick and one of changed results is never wrong; one that is given
more time than what a shorter one had to leave out makes them again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.folder import finite
from experiments.report.compared import compared
from experiments.report.windows import windows
from experiments.summary import digest
from experiments.sweep.identity import key_of
from simulator.statistics.files import write_text

if TYPE_CHECKING:
    from experiments.report.graphs import Behind
    from hwmodels import Gpu
    from simulator.statistics.result import Result

FILE_NAME = "demonstrations.json"
FORMAT = 3
MOST_BYTES = 100_000_000
FOR_COMPARED = 0.5
"""Share of the time that the strategies may take; the windows have what is left of it."""
NO_CARD = "The folder has no card that this version can replay on: run the experiment again."
NOTHING: dict[str, Any] = {"motions": [], "share": "", "left_out": []}
Report = Callable[[str, float], None]
"""Called with (what is being simulated, share of the work that is done)."""


def demonstrations(
    folder: Path,
    results: Sequence[Result],
    found: Behind,
    gpu: Gpu | None,
    seconds: float,
    report: Report | None = None,
) -> dict[str, Any]:
    """The document for the first card of a folder; `seconds` of 0 takes only what is kept already."""
    empty: dict[str, Any] = {"windows": None, "others": NOTHING, "why_not": found.why_not}
    if found.config is None or not found.parts:
        return empty
    if gpu is None:
        return {**empty, "why_not": NO_CARD}
    there = sorted(one.variant for one in results if one.card.name == gpu.name)
    key = digest({"work": key_of(found.config, gpu, "demonstrations"), "variants": there, "format": FORMAT})
    kept = _kept(folder / FILE_NAME, key)
    if kept is not None and (whole(kept) or seconds <= float(kept["seconds"])):
        return kept
    if seconds <= 0:
        return {**empty, "why_not": "Nothing was simulated for this page (--no-simulation)."}
    until = time.monotonic() + seconds
    others = compared(
        found.config, found.parts, gpu, results, seconds * FOR_COMPARED, _told("strategies", report)
    )
    left = max(0.0, until - time.monotonic())
    made = windows(found.config, found.parts, gpu, left, results, _told("windows of the chain", report))
    document: dict[str, Any] = finite(
        {"key": key, "seconds": seconds, "windows": made, "others": others, "why_not": ""}
    )
    write_text(folder / FILE_NAME, json.dumps(document, allow_nan=False) + "\n")
    return document


def whole(made: dict[str, Any]) -> bool:
    """Whether more time would change nothing: everything was replayed, and on the whole card."""
    return not any(one and (one["share"] or one["left_out"]) for one in (made["windows"], made["others"]))


def _told(what: str, report: Report | None) -> Callable[[float, int], None] | None:
    return None if report is None else lambda share, _: report(what, share)


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

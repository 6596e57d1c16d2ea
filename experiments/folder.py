"""A result folder: which files it has, and how they get there whole or not at all.

The folder is chosen and tried before anything is replayed, so that a long run never ends at a full or
forbidden disk that was known from the start. A folder that holds something else is refused; one with
earlier results is replaced file by file, each in one step, the summary last.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError
from simulator.statistics import archive
from simulator.statistics.files import make_folder, write_text
from simulator.statistics.result import Result, load_all
from simulator.statistics.tables import TABLES

if TYPE_CHECKING:
    from hwmodels import Gpu

DEFAULT_PARENT = Path("results")
SUMMARY = "summary.json"
CONFIG = "config.yaml"
SWEEP = "sweep.csv"
PLOTS = "plots"
CARDS = "cards"


def prepare(folder: Path) -> Path:
    """Make sure that results can be written there; an InputError says why not."""
    if folder.exists() and not folder.is_dir():
        raise InputError(str(folder), "is a file", "name a folder for the results")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / archive.FILE_NAME).exists():
        raise InputError(str(folder), "holds something other than results", "name a new or an empty folder")
    make_folder(folder)
    probe = folder / ".writable"
    write_text(probe, "")
    probe.unlink()
    return folder


def write(
    folder: Path,
    results: Sequence[Result],
    config: Mapping[str, Any],
    summary: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write all but the pictures: resolved config and cards, tables, raw record, and the summary last."""
    import pandas as pd
    import yaml

    write_text(folder / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
    make_folder(folder / CARDS)
    for name, numbers in cards.items():
        text = yaml.safe_dump(dict(numbers), sort_keys=False, allow_unicode=True)
        write_text(folder / CARDS / f"{name}.yaml", text)
    for name in TABLES:
        table = pd.concat([getattr(result, name) for result in results], ignore_index=True)
        write_text(folder / f"{name}.csv", table.to_csv(index=False))
    archive.write(folder, [result.source for result in results])
    write_text(folder / SUMMARY, json.dumps(finite(summary), indent=2, allow_nan=False) + "\n")


def read(folder: Path) -> list[Result]:
    """The results of a folder; an InputError for a folder that has none."""
    if not folder.is_dir():
        raise InputError(str(folder), "no such folder", "give the folder that `stallscope run` named")
    if not (folder / archive.FILE_NAME).exists() and (folder / SWEEP).is_file():
        raise InputError(
            str(folder),
            "holds a sweep, which keeps a row of numbers a point and no whole result",
            "draw it by `stallscope plot DIR --kind sweep`, replay a point by `stallscope run --set KEY=…`",
        )
    return load_all(folder)


def cards_in(folder: Path) -> dict[str, Gpu]:
    """The cards that a run wrote beside its results, by name; what can't be read is left out."""
    from hwmodels import Gpu

    found = {}
    for path in sorted((folder / CARDS).glob("*.yaml")):
        try:
            found[path.stem] = Gpu.from_card(str(path))
        except InputError:
            continue
    return found


def finite(document: Any) -> Any:
    """The document with numbers that JSON doesn't have as null."""
    if isinstance(document, Mapping):
        return {str(key): finite(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [finite(value) for value in document]
    if isinstance(document, float) and not math.isfinite(document):
        return None
    return document

"""Tables of measurements: a CSV with the columns of the published one, read strictly.

A value is a number, a range such as `849-865`, whose middle counts, or a word for what was not put in
numbers. Everything else that is wrong with a file is one error that names the file and the line.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiments.validation.units import is_known
from hwmodels.errors import InputError

COLUMNS = ("gpu", "quantity", "value", "unit", "conditions", "source", "confidence")
CONFIDENCES = ("high", "medium", "low")
PUBLISHED = Path(__file__).resolve().parents[1] / "data" / "published_measurements.csv"
RANGE = re.compile(r"([0-9.]+)\s*[-–]\s*([0-9.]+)")
WORD = re.compile(r"[A-Za-z][A-Za-z ]*")
MEASURED = ("lat.", "bw.", "tput.", "kernel.", "time.", "derived.")
"""Prefixes of quantities that are compared; the units of others are only words."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row. `value` is None where the source gives a word."""

    place: str
    gpu: str
    quantity: str
    value: float | None
    unit: str
    conditions: str
    source: str
    confidence: str


def read_measurements(paths: Iterable[Path | str]) -> list[Measurement]:
    """All rows of all files in order."""
    return [row for path in paths for row in read_file(Path(path))]


def read_file(path: Path) -> list[Measurement]:
    """The rows of one file; an InputError for the first thing that is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}", "not UTF-8 text", "save the table as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Measurement] = []
    try:
        header = next(reader, None)
        places = _places(path, header or [])
        width = len(header or [])
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}:{reader.line_num}"
            if len(cells) != width:
                raise InputError(
                    where, f"{len(cells)} cells under {width} columns", "quote cells with commas"
                )
            rows.append(_row(where, {name: cells[at].strip() for name, at in places.items()}))
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num}", f"no CSV ({error})", "quote cells as RFC 4180"
        ) from None
    return rows


def _places(path: Path, header: list[str]) -> dict[str, int]:
    names = [name.strip() for name in header]
    for column in COLUMNS:
        if names.count(column) != 1:
            what = "is missing" if column not in names else "stands twice"
            raise InputError(f"{path}:1", f"the column {column} {what}", f"columns: {', '.join(COLUMNS)}")
    return {column: names.index(column) for column in COLUMNS}


def _row(where: str, cells: dict[str, str]) -> Measurement:
    for name in ("gpu", "quantity", "unit"):
        if not cells[name]:
            raise InputError(where, f"{name} is empty", f"give the {name}")
    if cells["confidence"] not in CONFIDENCES:
        raise InputError(where, f"confidence {cells['confidence']!r}", f"one of {', '.join(CONFIDENCES)}")
    measured = cells["quantity"].startswith(MEASURED)
    if measured and not is_known(cells["unit"]):
        raise InputError(where, f"unknown unit {cells['unit']!r}", "such as cycles, ns, us, GB/s, B/clk/SM")
    value = _value(where, cells.pop("value"), measured=measured)
    return Measurement(where, value=value, **cells)


def _value(where: str, text: str, *, measured: bool) -> float | None:
    found = RANGE.fullmatch(text)
    try:
        value = float(text) if found is None else (float(found[1]) + float(found[2])) / 2
    except ValueError:
        if WORD.fullmatch(text):
            return None
        raise InputError(
            where, f"{text[:40]!r} is no number", "a number, or a range such as 849-865"
        ) from None
    if not math.isfinite(value):
        raise InputError(where, f"the value is {text}", "a finite number")
    if measured and value == 0:
        raise InputError(where, "the value is 0", "a measurement that an error can be a percentage of")
    return value

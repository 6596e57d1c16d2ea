"""Tables of the page: columns with units and sentences, cells as words beside the value that they sort by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from simulator.statistics.phases import PHASES, STATES
from simulator.statistics.result import Result
from simulator.statistics.tables import TABLES
from simulator.statistics.tables_kernels import COLUMNS

TITLES = {
    "kernels": "Kernels: one row a launch",
    "stalls": "Warp states: what resident warps waited for",
    "latency": "Latency: SM cycles of memory requests by phase",
    "occupancy": "Limits of residency",
    "traffic": "Traffic: what went through each level",
    "energy": "Energy by level and operation",
}
MOST_ROWS = 2_000
ON_PAPER = 60
"""Rows of a table that print; all are on the screen."""
MOST_COLUMNS_ON_PAPER = 14
"""A table of more columns prints on its side."""
MEANINGS = {**dict(STATES), **dict(PHASES)}
"""Sentences for cells that name a warp state or a phase."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; numbers stand to the right."""

    name: str
    unit: str
    sentence: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Words to show, the value to sort by, and a sentence where the words are a name of ours."""

    text: str
    value: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `left_out` rows are in the CSV only."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0

    @property
    def sideways(self) -> bool:
        """Whether it has too many columns for the width of a sheet, so that its columns print as rows."""
        return len(self.columns) > MOST_COLUMNS_ON_PAPER

    @property
    def not_on_paper(self) -> int:
        """Rows that don't print."""
        return max(0, len(self.rows) - ON_PAPER)


def result_tables(results: Sequence[Result]) -> list[Table]:
    """All tables but that of intervals, which the first demonstration plays."""
    made = []
    known = {name: (unit, sentence) for name, unit, sentence in COLUMNS}
    for name in TABLES:
        if name == "intervals":
            continue
        title = TITLES.get(name, name)
        frame = pd.concat([getattr(result, name) for result in results], ignore_index=True)
        made.append(table_of(name, title, frame, known))
    return made


def table_of(
    name: str, title: str, frame: pd.DataFrame, known: Mapping[str, tuple[str, str]] | None = None
) -> Table:
    """A table from a frame."""
    columns = tuple(
        Column(
            str(column),
            *(known or {}).get(str(column), ("", "")),
            bool(pd.api.types.is_numeric_dtype(frame[column])) and frame[column].dtype != bool,
        )
        for column in frame.columns
    )
    rows = tuple(
        tuple(cell(row[column.name]) for column in columns)
        for row in frame.head(MOST_ROWS).to_dict("records")
    )
    return Table(name, title, columns, rows, max(0, len(frame) - MOST_ROWS))


def cell(value: Any) -> Cell:
    """A value as a person reads it, and as it sorts."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return Cell("–", "")
    if isinstance(value, bool):
        return Cell("yes" if value else "no", str(int(value)))
    if isinstance(value, int):
        return Cell(f"{value:,}", str(value))
    if isinstance(value, float):
        return Cell(f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.2f}", repr(value))
    return Cell(str(value).replace(";", "; "), str(value), MEANINGS.get(str(value), ""))

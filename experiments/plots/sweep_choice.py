"""Which key of a sweep goes where in its picture, and the one replay that stands for each place.

Along the axis goes the numeric key with most values; the lines are the next numeric key, or the variants;
panels are what is named (parts, cards). Keys that are left over are not averaged: the fastest replay stands
for them, and the picture says so. A place without any replay is a hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.sweep.table import OK, swept_keys
from hwmodels.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MOST_PANELS = 4
MOST_LINES = 8
REGISTERS = "registers"
SPILLS, LIMITED, FREE = "spills", "limited", "free"
"""What registers do to a replay: it spills; they limit the blocks of an SM; neither."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The keys of a table by what they are in the picture."""

    along: str
    lines: str
    panels: tuple[str, ...]
    best_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The replay that stands at one place of a panel; None of its numbers where there is a hole."""

    along: Any
    line: Any
    row: dict[str, Any] | None

    @property
    def cycles(self) -> float:
        """Its cycles; not a number for a hole."""
        return float("nan") if self.row is None else float(self.row["cycles"])

    @property
    def regime(self) -> str:
        """What registers do to it."""
        if self.row is None:
            return ""
        if self.row["spill_bytes_per_thread"] > 0:
            return SPILLS
        return LIMITED if REGISTERS in str(self.row["limiters"]).split(";") else FREE


@dataclass(frozen=True, slots=True)
class Panel:
    """One named part of the picture with all places, line by line."""

    title: str
    along: tuple[Any, ...]
    lines: tuple[Any, ...]
    places: dict[tuple[Any, Any], Place]
    """By (line, along)."""

    def best(self, along: Any) -> Place | None:
        """The fastest line at one value along the axis."""
        there = [self.places[line, along] for line in self.lines if self.places[line, along].row is not None]
        return min(there, key=lambda place: place.cycles, default=None)


def roles_of(table: pd.DataFrame) -> Roles:
    """Decide by the number and kind of values of each swept key."""
    several = [key for key in [*swept_keys(table), "variant"] if table[key].nunique() > 1]
    numeric = {key: table[key].nunique() for key in several if _numbers(table[key]) is not None}
    if not numeric:
        raise InputError("sweep", "no swept key has numbers", "a picture needs one along its axis")
    along = max(numeric, key=lambda key: (numeric[key], -several.index(key)))
    rest = [key for key in several if key != along]
    lines = next((key for key in rest if key in numeric and table[key].nunique() <= MOST_LINES), None)
    if lines is None:
        lines = next((key for key in reversed(rest) if table[key].nunique() <= MOST_LINES), "variant")
    rest = [key for key in rest if key != lines]
    panels: list[str] = []
    for key in rest:
        if key not in numeric and len(table.drop_duplicates([*panels, key])) <= MOST_PANELS:
            panels.append(key)
    return Roles(along, lines, tuple(panels), tuple(key for key in rest if key not in panels))


def panels_of(table: pd.DataFrame, roles: Roles) -> list[Panel]:
    """The panels, in the order of the table."""
    keys = list(roles.panels)
    if not keys:
        return [_panel("", table, roles)]
    made = []
    for values in table[keys].drop_duplicates().itertuples(index=False):
        part = table
        for key, value in zip(keys, values, strict=True):
            part = part[part[key] == value]
        made.append(_panel(" to ".join(dict.fromkeys(map(str, values))), part, roles))
    return made


def _panel(title: str, table: pd.DataFrame, roles: Roles) -> Panel:
    along = tuple(sorted(table[roles.along].unique(), key=_order))
    lines = tuple(sorted(table[roles.lines].unique(), key=_order))
    places = {}
    for line in lines:
        for value in along:
            rows = table[
                (table[roles.lines] == line) & (table[roles.along] == value) & (table["status"] == OK)
            ].to_dict("records")
            best = min(rows, key=lambda row: row["cycles"], default=None)
            places[line, value] = Place(
                value, line, None if best is None else {str(k): v for k, v in best.items()}
            )
    return Panel(title, along, lines, places)


def _numbers(column: pd.Series[Any]) -> list[float] | None:
    """The values of a column as numbers, without `null`; None where one is a word."""
    numbers = []
    for value in column.unique():
        if str(value) == "null":
            continue
        number = as_number(value)
        if number is None:
            return None
        numbers.append(number)
    return numbers or None


def as_number(value: Any) -> float | None:
    """A number, also a share such as 1/16; None for anything else."""
    try:
        whole, slash, part = str(value).partition("/")
        return float(whole) / float(part) if slash else float(whole)
    except (ValueError, ZeroDivisionError):
        return None


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then words; `null` is last."""
    number = as_number(value)
    return (0, number, "") if number is not None else (1, 0.0, str(value))

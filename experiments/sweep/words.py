"""A sweep's table as a person reads it on the terminal: the swept keys, and the columns that most questions
need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MEGABYTE = 1_000_000
HOLE = "hole"
AVERAGE_HEADINGS = ("key", "value", "variant", "replays", "mean cycles", "mean µs", "holes")


def headings(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """The headings of `lines`."""
    return [
        *keys,
        *_card(keys, rows),
        "variant",
        "cycles",
        "time µs",
        "× none",
        "regs",
        "spill B",
        "occ. %",
        "achieved %",
        "DRAM MB",
        "limited by",
        "bound",
    ]


def lines(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """One line a row; a hole has no numbers."""
    return [
        [
            *(str(row[key]) for key in keys),
            *(row[name] for name in _card(keys, rows)),
            row["variant"],
            *_numbers(row),
        ]
        for row in rows
    ]


def shared(rows: Sequence[Sequence[str]], axes: Sequence[Sequence[int]]) -> list[list[str]]:
    """Lines that differ in one axis only, and so have equal numbers, as one line with all values of the axis.

    `axes` has the columns of each axis; the last ones are joined first.
    """
    made = [list(row) for row in rows]
    for columns in reversed(axes):
        groups: dict[tuple[str, ...], list[list[str]]] = {}
        for row in made:
            rest = tuple(cell for at, cell in enumerate(row) if at not in columns)
            groups.setdefault(rest, []).append(row)
        made = []
        for first, *others in groups.values():
            for at in columns:
                first[at] = ", ".join(dict.fromkeys(row[at] for row in (first, *others)))
            made.append(first)
    return made


def average_lines(means: Sequence[dict[str, Any]]) -> list[list[str]]:
    """One line a value of a key and variant."""
    return [
        [
            mean["key"],
            str(mean["value"]),
            mean["variant"],
            f"{mean['averaged']} of {mean['replays']}",
            _number(mean["cycles"], 0),
            _number(mean["time_us"], 1),
            str(mean["holes"]),
        ]
        for mean in means
    ]


def _card(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """The card's column, where several cards stand in the table and it is no swept key already."""
    several = len({row["gpu"] for row in rows}) > 1
    return ["gpu"] if several and "gpu" not in keys else []


def _numbers(row: dict[str, Any]) -> list[str]:
    if row["status"] != "ok":
        return [HOLE, *["-"] * 7, row["status"], "-"]
    return [
        f"{row['cycles']:,}",
        f"{row['time_us']:,.1f}",
        _number(row["speedup_vs_none"], 2),
        str(row["registers_per_thread"]),
        str(row["spill_bytes_per_thread"]),
        _number(row["theoretical_occupancy_pct"], 0),
        _number(row["achieved_occupancy_pct"], 0),
        f"{(row['dram_read_bytes'] + row['dram_write_bytes']) / MEGABYTE:,.2f}",
        row["limiters"].replace(";", "+"),
        row["bound"],
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"

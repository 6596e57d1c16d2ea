"""sweep.csv: one row a point, card and variant, with the swept keys in front and the numbers of the replay
behind.

A replay that failed, or that has not been run, is a hole: its row says so in `status` and `error`, and its
numbers are empty. Averages never skip a hole: where one value of a key has none, the others are averaged
without what belongs to it either, so that all means of a key are over the same points; how many is counted.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.comparison import BASELINE
from experiments.sweep.axes import Axis, written
from experiments.sweep.points import Sweep
from experiments.sweep.row import columns
from experiments.sweep.store import Stored
from hwmodels.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FILE_NAME = "sweep.csv"
OK, FAILED, MISSING = "ok", "failed", "missing"
SPEEDUP = "speedup_vs_none"
AVERAGED = ("cycles", "time_us")


def rows_of(sweep: Sweep, stored: Mapping[str, Stored]) -> list[dict[str, Any]]:
    """The rows of the table, in the order of the points."""
    rows = []
    for entry in sweep.entries:
        found = None if entry.job is None else stored.get(entry.job.key)
        error = entry.error if entry.job is None else "" if found is None else found.error
        numbers = None if found is None else found.row
        status = OK if numbers is not None else FAILED if error else MISSING
        rows.append(
            {
                "point": entry.point,
                **{key: written(value) for key, value in entry.values.items()},
                "gpu": entry.gpu,
                "variant": entry.variant,
                "status": status,
                "error": error,
                **dict.fromkeys(columns()),
                **(numbers or {}),
                SPEEDUP: None,
            }
        )
    _add_speedups(sweep, rows)
    return rows


def csv_of(rows: list[dict[str, Any]]) -> str:
    """The table as text, the same to the byte for the same results."""
    import csv

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_sweep(folder: Path) -> pd.DataFrame:
    """The table of a sweep's folder; swept values as they were written, holes as empty cells."""
    import pandas as pd

    path = folder / FILE_NAME
    if not path.is_file():
        raise InputError(str(path), "no such file", "give a folder that `stallscope sweep` named")
    try:
        table = pd.read_csv(
            path, keep_default_na=False, na_values={name: [""] for name in [*columns(), SPEEDUP]}
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"is no table ({error})", "run the sweep again") from None
    lacking = [name for name in ("point", "variant", "status", *AVERAGED) if name not in table.columns]
    if lacking:
        raise InputError(str(path), f"lacks the column {lacking[0]}", "run the sweep again")
    return table


def swept_keys(table: pd.DataFrame) -> list[str]:
    """The keys that a table was swept over: the columns between `point` and `variant`."""
    names = list(table.columns)
    own = names[names.index("point") + 1 : names.index("variant")]
    # The card is a column of every sweep; it is a swept key where it differs.
    return [name for name in own if name != "gpu" or table["gpu"].nunique() > 1]


def averages(rows: list[dict[str, Any]], axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Mean cycles and time of each step of each axis, variant by variant, over the points of the other axes
    that have a result at every step; None where there is no such point.
    """
    means: list[dict[str, Any]] = []
    for axis in axes:
        others = [key for one in axes if one is not axis for key in one.keys]
        others += [name for key, name in (("gpu", "gpu"), ("fusion", "variant")) if key not in axis.keys]
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault((*(row[key] for key in axis.keys), row["variant"]), []).append(row)
        if len(groups) == len(rows):
            continue  # one replay each: nothing to average
        incomplete = {_place(row, others) for row in rows if row["status"] != OK}
        for (*values, variant), members in groups.items():
            averaged = [row for row in members if _place(row, others) not in incomplete]
            means.append(
                {
                    "key": ", ".join(axis.keys),
                    "value": values[0] if len(values) == 1 else ", ".join(map(str, values)),
                    "variant": variant,
                    "replays": len(members),
                    "averaged": len(averaged),
                    "holes": sum(row["status"] != OK for row in members),
                    **{
                        name: sum(row[name] for row in averaged) / len(averaged) if averaged else None
                        for name in AVERAGED
                    },
                }
            )
    return means


def _place(row: dict[str, Any], keys: Sequence[str]) -> tuple[Any, ...]:
    """Where a row stands on these keys."""
    return tuple(row[key] for key in keys)


def _add_speedups(sweep: Sweep, rows: list[dict[str, Any]]) -> None:
    """Time of the unfused variant over that of each, within a point and card, or a point but for its
    `fusion`.
    """
    fixed = [key for key in sweep.keys if key != "fusion"]

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return (row["gpu"], *(row[key] for key in fixed))

    baseline = {
        place(row): row["time_us"] for row in rows if row["variant"] == BASELINE and row["status"] == OK
    }
    for row in rows:
        before = baseline.get(place(row))
        if before is not None and row["status"] == OK and not row["partial"]:
            row[SPEEDUP] = before / row["time_us"] if row["time_us"] else None

"""The seven tables by name: which columns each has, in which order, and how its rows become a DataFrame.

Columns of whole numbers that may be empty are pandas `Int64`, so that a count never turns into a float on
its way. The names of the tables are the names of the CSV files of a result folder. Each ends with `partial`:
True for a kernel that a limit cut short; one that the run never reached has no rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from simulator.statistics import tables_kernels
from simulator.statistics.energy import ENERGY_COLUMNS, energy_rows
from simulator.statistics.source import Source
from simulator.statistics.tables_intervals import INTERVAL_COLUMNS, interval_rows
from simulator.statistics.tables_kernels import PARTIAL, kernel_rows
from simulator.statistics.tables_traffic import TRAFFIC_COLUMNS, traffic_rows
from simulator.statistics.tables_warps import (
    LATENCY_COLUMNS,
    OCCUPANCY_COLUMNS,
    STALL_COLUMNS,
    latency_rows,
    occupancy_rows,
    stall_rows,
)


class Table(NamedTuple):
    """One table: its columns, and the function that makes its rows."""

    columns: tuple[str, ...]
    rows: Callable[[Source], list[dict[str, Any]]]
    nullable: tuple[str, ...] = ()


TABLES: dict[str, Table] = {
    "kernels": Table(tuple(name for name, _, _ in tables_kernels.COLUMNS), kernel_rows),
    "stalls": Table((*STALL_COLUMNS, PARTIAL), stall_rows),
    "latency": Table((*LATENCY_COLUMNS, PARTIAL), latency_rows),
    "occupancy": Table((*OCCUPANCY_COLUMNS, PARTIAL), occupancy_rows, ("blocks_per_sm",)),
    "traffic": Table((*TRAFFIC_COLUMNS, PARTIAL), traffic_rows, TRAFFIC_COLUMNS[5:]),
    "energy": Table((*ENERGY_COLUMNS, PARTIAL), energy_rows, ("bytes",)),
    "intervals": Table((*INTERVAL_COLUMNS, PARTIAL), interval_rows),
}


def frame(name: str, source: Source) -> pd.DataFrame:
    """One table of a result."""
    table = TABLES[name]
    cut = {label: source.cut(place) for place, label in enumerate(source.labels) if source.begun(place)}
    rows = [{**row, PARTIAL: cut[row["kernel"]]} for row in table.rows(source) if row["kernel"] in cut]
    made = pd.DataFrame(rows, columns=list(table.columns))
    return made.astype(dict.fromkeys(table.nullable, "Int64"))

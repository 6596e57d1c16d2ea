"""Our results in the form that `ncu --csv` prints, details page or raw page, so that tools which read that
read ours too.

Numbers are in base units with as many digits as they need to be read back the same. Lines of the profiler
itself (`==PROF==`) are not imitated.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.profiles.nsight import COMMON
from experiments.profiles.nsight_names import NAMES, Name

if TYPE_CHECKING:
    from hwmodels import Gpu

OURS = "stallscope"
PAGES = ("details", "raw")


def nsight_csv(rows: Sequence[tuple[Mapping[str, Any], Gpu]], page: str = "details") -> str:
    """The table of rows of kernels.csv, each with its card."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    if page == "raw":
        writer.writerow([*COMMON, *(name.raw for name in NAMES)])
        writer.writerow([*[""] * len(COMMON), *(name.unit for name in NAMES)])
        for number, (row, gpu) in enumerate(rows):
            writer.writerow([*_common(number, row, gpu), *(_cell(name, row, gpu) for name in NAMES)])
        return text.getvalue()
    writer.writerow([*COMMON, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])
    for number, (row, gpu) in enumerate(rows):
        for name in NAMES:
            cell = _cell(name, row, gpu)
            if cell:
                writer.writerow([*_common(number, row, gpu), name.section, name.details, name.unit, cell])
    return text.getvalue()


def _common(number: int, row: Mapping[str, Any], gpu: Gpu) -> list[str]:
    block, grid = int(row["threads_per_block"]), int(row["grid_blocks"])
    return [
        str(number),
        "0",
        OURS,
        "localhost",
        f"{row['kernel']}",
        "1",
        str(row.get("stream", 0)),
        f"({block}, 1, 1)",
        f"({grid}, 1, 1)",
        "0",
        str(gpu.compute_capability),
    ]


def _cell(name: Name, row: Mapping[str, Any], gpu: Gpu) -> str:
    value = name.of(row, gpu)
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)

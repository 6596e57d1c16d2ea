"""The history of figures, one CSV row a measurement with date, versions and computer, appended for ever.

One row is one line, so a file to which two processes append stays readable; what reads CSV can plot it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

from experiments.bench.measure import Measurement
from experiments.bench.start import Start
from hwmodels.errors import InputError

HOST_COLUMNS = ("stallscope", "python", "numpy", "simpy", "numba", "processor", "cores", "load")
COLUMNS = ("date", *HOST_COLUMNS, "quick", *(field.name for field in fields(Measurement)))


def append(
    path: Path,
    rows: Sequence[Measurement],
    starts: Sequence[Start],
    host: Mapping[str, object],
    *,
    quick: bool,
) -> None:
    """Add the rows of one run; a start is a row whose trace is `start-cold` or `start-warm`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    if check(path):
        writer.writeheader()
    common = {"date": datetime.now(UTC).isoformat(timespec="seconds"), **host, "quick": quick}
    for row in rows:
        numbers = {key: _short(value) for key, value in asdict(row).items()}
        writer.writerow({**common, **numbers})
    for start in starts:
        times = {"cpu_seconds": _short(start.cpu_seconds), "wall_seconds": _short(start.wall_seconds)}
        writer.writerow({**common, "engine": start.engine, "trace": f"start-{start.start}", **times})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())


def check(path: Path) -> bool:
    """Whether the file is still to be begun; an InputError if it is something else than a history."""
    if not path.exists() or not path.stat().st_size:
        return True
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline(10_000).rstrip("\n")
    if header != ",".join(COLUMNS):
        raise InputError(f"--history {path}", "is no history of this version's bench", "name another file")
    return False


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value

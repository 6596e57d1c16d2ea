"""What the measuring program prints, as rows with the columns of the published measurements.

The program prints a line that names the device, a line a row, and `end`. Output that breaks off, has a row
that is none, or a value that is not finite is an error: half a measurement must not look like a whole one.
"""

import csv
import io
import math
from dataclasses import astuple, dataclass

from hwmodels.errors import InputError

COLUMNS = ("gpu", "quantity", "value", "unit", "conditions", "source", "confidence")
PROGRAM = "measuring program"
CONFIDENCE = "high"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement, its fields in the order of the columns."""

    gpu: str
    quantity: str
    value: str
    unit: str
    conditions: str
    source: str
    confidence: str = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Measured:
    """The device and its rows."""

    gpu: str
    capability: str
    sm_count: int
    clock_mhz: int
    rows: tuple[Row, ...]


def parse(text: str, source: str) -> Measured:
    """The rows of a program's output; `source` goes into every row."""
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        raise InputError(PROGRAM, "its output breaks off", "run it again")
    device = lines[0].split("\t")
    if device[0] != "device" or len(device) != 5 or not (device[3].isdigit() and device[4].isdigit()):
        raise InputError(f"{PROGRAM}:1", "no line that names the device", "build it again")
    name = board(device[1])
    rows = []
    for number, line in enumerate(lines[1:-1], start=2):
        fields = line.split("\t")
        if fields[0] != "row" or len(fields) != 5 or not all(fields[1:4]):
            raise InputError(f"{PROGRAM}:{number}", f"{line[:60]!r} is no row", "build it again")
        rows.append(Row(name, fields[1], _number(number, fields[2]), fields[3], fields[4], source))
    return Measured(name, device[2], int(device[3]), int(device[4]), tuple(rows))


def board(name: str) -> str:
    """A device's name without its maker's, as tables of measurements write it."""
    words = name.replace("-", " ").split()
    return " ".join(word for word in words if word.upper() not in {"NVIDIA", "TESLA", "GEFORCE", "QUADRO"})


def _number(line: int, text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{PROGRAM}:{line}", f"{text[:40]!r} is no measurement", "run it again")
    return text


def table(rows: tuple[Row, ...]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()

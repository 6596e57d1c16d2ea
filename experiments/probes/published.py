"""What was measured on silicon, looked up for a card: the shipped tables of published measurements.

A figure is the median of the rows of one die, quantity and method. Of rows with different confidence only
those of the best one count. Rows name boards as their authors did; `BOARDS` says which of them have the die
and, where cycles depend on it, the clock of one of our cards.
"""

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from hwmodels import Gpu

DATA = Path(__file__).resolve().parents[1] / "data"
MEASUREMENTS = (DATA / "published_measurements.csv", DATA / "published_gpu_benches.csv")
"""The second holds whole curves of a public suite, in the same columns."""
STRIDES = DATA / "published_l1_strides.csv"

A100 = (
    "A100",
    "A100 40GB",
    "A100 SXM4",
    "A100 SXM4 40GB",
    "A100 PCIe 40GB",
    "A100 SXM4 80GB",
    "A100 PCIe 80GB",
)
BOARDS = {
    "v100-pcie-16gb": ("V100 PCIe", "V100"),
    "v100-sxm2-16gb": ("V100 SXM2", "V100"),
    "a100-sxm-40gb": A100,
    "a100-sxm-80gb": A100,
    "h100-sxm": ("H100 SXM5", "H100"),
    "h100-pcie": ("H100 PCIe", "H800 PCIe (GH100)"),
    "h800-pcie": ("H100 PCIe", "H800 PCIe (GH100)"),
    "a100-pcie-40gb": A100,
    "gh200": ("GH200",),
    "h200-sxm": ("H200 SXM",),
    "rtx-3090": ("RTX 3090",),
    "rtx-a6000": ("RTX A6000",),
    "a40": ("A40",),
    "l40": ("L40",),
    "rtx-4090": ("RTX 4090",),
}
"""Boards whose cycles hold for a card: same die, same clocks."""
DIES = {
    "GV100": ("V100 PCIe", "V100 SXM2", "V100", "TITAN V"),
    "GA100": A100,
    "GH100": BOARDS["h100-pcie"],
    "GA102": ("A40", "RTX A6000", "RTX 3090"),
    "AD102": ("L40", "RTX 4090"),
}
"""Boards whose cycles inside an SM hold for a die at any clock."""
CONFIDENCES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Published:
    """A published figure: the median of `rows` measurements, with the confidence of all of them."""

    value: float
    unit: str
    confidence: str
    rows: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table that has a plain number."""

    gpu: str
    quantity: str
    value: float
    unit: str
    conditions: str
    source: str
    confidence: str


@cache
def measurements() -> tuple[Measurement, ...]:
    """All rows with a number."""
    rows = []
    for path in MEASUREMENTS:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                try:
                    value = float(row.pop("value"))
                except ValueError:
                    continue
                rows.append(Measurement(value=value, **row))
    return tuple(rows)


def die_boards(gpu: Gpu) -> tuple[str, ...]:
    """The boards of a card's die; none for a die that nobody measured."""
    return DIES.get(gpu.die, ())


def boards_of(gpu: Gpu) -> tuple[str, ...]:
    """The published boards that are this card; none for a card of a person's own."""
    return BOARDS.get(gpu.name, ())


def published_points(boards: Iterable[str], pattern: str) -> dict[float, Published]:
    """The points of a curve whose quantities hold their place, such as `lat.chase_ws_([0-9]+)KiB`."""
    places, shape = set(boards), re.compile(pattern)
    found: dict[float, Published] = {}
    for row in measurements():
        match = shape.fullmatch(row.quantity) if row.gpu in places else None
        if match:
            found[float(match[1])] = Published(row.value, row.unit, row.confidence, 1)
    return dict(sorted(found.items()))


def published(
    boards: Iterable[str],
    quantities: str | Iterable[str],
    *,
    method: str = "",
    without: str = "",
    convert: Callable[[float], float] = float,
    unit: str = "",
) -> Published | None:
    """The median of the best-trusted rows of some boards and quantities, None if there is none.

    `method` is a word that the conditions must have, `without` one that they must not have. `convert` brings
    the value into `unit`.
    """
    named = {quantities} if isinstance(quantities, str) else set(quantities)
    places = set(boards)
    found = [
        row
        for row in measurements()
        if row.gpu in places
        and row.quantity in named
        and method in row.conditions
        and not (without and without in row.conditions)
    ]
    for confidence in CONFIDENCES:
        values = [row.value for row in found if row.confidence == confidence]
        if values:
            return Published(convert(median(values)), unit or found[0].unit, confidence, len(values))
    return None


def published_strides(gpu: Gpu) -> dict[int, Published]:
    """Cycles a warp load of 4-byte elements by stride, of a card's die."""
    if gpu.die != "GA100":
        points = published_points(die_boards(gpu), r"tput\.l1_stride_([0-9]+)")
        return {int(stride): known for stride, known in points.items()}
    with STRIDES.open(newline="") as file:
        return {
            int(row["stride"]): Published(float(row["cycles"]), "SM cycles", "high", 1)
            for row in csv.DictReader(file)
        }

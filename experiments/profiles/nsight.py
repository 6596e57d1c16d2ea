"""Reads what `ncu --csv` prints: the details page (a row a metric) and the raw page (a column a metric), with
whatever program output stands before the header.

Units stand in a column (details) or in the row under the header (raw). Numbers may carry thousands
separators; a cell that is no number stays a word. Values are brought to base units: ns, bytes, Hz, bytes a
second. Rules' advice is not read.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.profiles.limits import DEFAULT_LIMITS, ProfileLimits
from experiments.profiles.profile import Extent
from experiments.profiles.text_stream import TextStream
from hwmodels.errors import InputError
from simulator.trace import limits as trace_limits

REMEDY = "give what `ncu --csv` printed, details or raw page"
COMMON = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
"""Columns that every row has, on both pages, in this order."""
FIXED = (*COMMON, "Kernel Time")
"""Columns of the raw page that are no metrics."""
UNITS = {
    "nsecond": ("ns", 1.0),
    "ns": ("ns", 1.0),
    "usecond": ("ns", 1e3),
    "us": ("ns", 1e3),
    "msecond": ("ns", 1e6),
    "ms": ("ns", 1e6),
    "second": ("ns", 1e9),
    "s": ("ns", 1e9),
    "byte": ("byte", 1.0),
    "kbyte": ("byte", 1e3),
    "mbyte": ("byte", 1e6),
    "gbyte": ("byte", 1e9),
    "tbyte": ("byte", 1e12),
    "hz": ("hz", 1.0),
    "khz": ("hz", 1e3),
    "mhz": ("hz", 1e6),
    "ghz": ("hz", 1e9),
    "cycle/nsecond": ("hz", 1e9),
    "cycle/usecond": ("hz", 1e6),
    "cycle/second": ("hz", 1.0),
}
EXTENT = re.compile(
    r"\(?\s*(\d[\d,]{0,14}?)(?:,\s+|\s*x\s*)(\d[\d,]{0,8}?)(?:,\s+|\s*x\s*)(\d[\d,]{0,8}?)\s*\)?"
)
NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured value in base units. `value` is None for a word, which stands in `text`."""

    name: str
    unit: str
    value: float | None
    text: str


@dataclass(slots=True)
class NsightKernel:
    """One profiled launch; metrics by (name, unit), since one name may stand for a share and for a rate."""

    place: str
    number: str
    name: str
    block: Extent
    grid: Extent
    capability: str
    metrics: dict[tuple[str, str], Metric] = field(default_factory=dict)

    def value(self, *names: str, unit: str | None = None) -> float | None:
        """The first of these metrics that is there and is a number."""
        for name in names:
            for (own, own_unit), metric in self.metrics.items():
                if own == name and metric.value is not None and unit in {None, own_unit}:
                    return metric.value
        return None


def read_nsight(path: Path, limits: ProfileLimits = DEFAULT_LIMITS) -> list[NsightKernel]:
    """The kernels of a file, in order; an InputError where there is none or the table is broken."""
    with TextStream(path, limits) as stream:
        return _Reader(path, limits).read(_lines(stream, limits))


def _lines(stream: TextStream, limits: ProfileLimits) -> Iterator[tuple[int, str]]:
    """Numbered lines, with their ends, of bounded length."""
    left, number = "", 0
    most = limits.cells * 200
    while piece := stream.read():
        parts = (left + piece).splitlines(keepends=True)
        left = "" if parts and parts[-1].endswith("\n") else parts.pop()
        for line in parts:
            number += 1
            yield number, line
        if len(left) > most:
            raise InputError(f"{stream.name}:{number + 1}", f"a line of more than {most} characters", REMEDY)
    if left:
        yield number + 1, left


class _Reader:
    def __init__(self, path: Path, limits: ProfileLimits) -> None:
        self.path = path
        self.limits = limits
        self.header: list[str] = []
        self.units: list[str] | None = None
        self.kernels: dict[tuple[str, str, str], NsightKernel] = {}
        self.rows = 0

    def read(self, lines: Iterator[tuple[int, str]]) -> list[NsightKernel]:
        for number, line in lines:
            row = self._split(f"{self.path}:{number}", line, lines)
            if not row or (len(row) == 1 and not row[0].strip()) or line.startswith("=="):
                continue
            if "ID" in row and "Kernel Name" in row:
                self.header, self.units = [cell.strip() for cell in row], None
                if "Metric Name" in self.header and "Metric Value" not in self.header:
                    raise InputError(f"{self.path}:{number}", "no column Metric Value", REMEDY)
                if len(set(self.header)) != len(self.header):
                    twice = next(one for one in self.header if self.header.count(one) > 1)
                    raise InputError(f"{self.path}:{number}", f"the column {twice!r} stands twice", REMEDY)
            elif self.header:
                self._row(f"{self.path}:{number}", row)
        if not self.header:
            raise InputError(str(self.path), "no header with ID and Kernel Name", REMEDY)
        if not self.kernels:
            raise InputError(str(self.path), "a header, but no kernel", REMEDY)
        return list(self.kernels.values())

    def _split(self, place: str, line: str, lines: Iterator[tuple[int, str]]) -> list[str]:
        """The cells of a row, which goes on in the next lines while a quote is open."""
        if self.header or '"ID"' in line or line.startswith("ID,"):
            while line.count('"') % 2 and len(line) < self.limits.cell_characters:
                following = next(lines, None)
                if following is None:
                    raise InputError(place, "a quote that is not closed", REMEDY)
                line += following[1]
        try:
            row = next(csv.reader([line]), [])
        except csv.Error as error:
            raise InputError(place, f"no row of a table ({error})", REMEDY) from None
        if len(row) > self.limits.cells:
            raise InputError(place, f"more than {self.limits.cells} cells", REMEDY)
        return row

    def _row(self, place: str, row: Sequence[str]) -> None:
        self.rows += 1
        if self.rows > self.limits.rows:
            raise InputError(place, f"more than {self.limits.rows} rows", "profile fewer kernels")
        raw = "Metric Name" not in self.header
        if raw and self.units is None and not row[0].strip() and any(row):
            if len(row) != len(self.header):
                raise InputError(place, f"{len(row)} units below a header of {len(self.header)}", REMEDY)
            self.units = [cell.strip() for cell in row]
            return
        number = self.header.index("ID")
        if number >= len(row) or not row[number].strip().isdigit():
            return  # what the program printed after the table, or a note of the profiler
        # The profiler leaves out cells at a row's end that would be empty.
        needed = 1 + self.header.index("Kernel Name" if raw else "Metric Value")
        if len(row) < needed or any(row[len(self.header) :]):
            raise InputError(place, f"{len(row)} cells below a header of {len(self.header)}", REMEDY)
        row = [*row[: len(self.header)], *[""] * (len(self.header) - len(row))]
        cells = dict(zip(self.header, row, strict=True))
        kernel = self._kernel(place, cells)
        if not raw:
            if cells["Metric Name"]:
                unit = cells.get("Metric Unit", "")
                self._add(kernel, place, cells["Metric Name"], unit, cells.get("Metric Value", ""))
            return
        for at, name in enumerate(self.header):
            if name not in FIXED and row[at].strip():
                self._add(kernel, place, name, self.units[at] if self.units else "", row[at])

    def _kernel(self, place: str, cells: dict[str, str]) -> NsightKernel:
        key = cells["ID"], cells.get("Process ID", ""), cells["Kernel Name"]
        if key not in self.kernels:
            if len(self.kernels) >= self.limits.kernels:
                raise InputError(place, f"more than {self.limits.kernels} kernels", "profile fewer kernels")
            name = "".join(one if one.isprintable() else " " for one in cells["Kernel Name"])
            self.kernels[key] = NsightKernel(
                place,
                cells["ID"],
                name,
                _extent(f"{place}:Block Size", cells.get("Block Size", ""), trace_limits.MAX_BLOCK),
                _extent(f"{place}:Grid Size", cells.get("Grid Size", ""), trace_limits.MAX_GRID),
                cells.get("CC", "").strip(),
            )
        return self.kernels[key]

    def _add(self, kernel: NsightKernel, place: str, name: str, unit: str, text: str) -> None:
        value = number_of(f"{place}:{name}", text)
        base, factor = base_unit(unit)
        metric = Metric(name.strip(), base, None if value is None else value * factor, text.strip())
        kernel.metrics[metric.name, metric.unit] = metric


def number_of(place: str, text: str) -> float | None:
    """A cell as a number, None for a word; an InputError for what is neither finite nor a word."""
    word = text.strip()
    if word.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        raise InputError(place, f"{word} is no measurement", "profile the kernel again")
    if not any(one.isdigit() for one in word) or not NUMBER.fullmatch(word):
        return None
    value = float(word.replace(",", ""))
    if not math.isfinite(value):
        raise InputError(place, f"{word[:40]} is beyond any measurement", "profile the kernel again")
    return value


def base_unit(unit: str) -> tuple[str, float]:
    """The base unit and what a value is to be multiplied by; a unit that is not known stays as it is."""
    plain = unit.strip()
    over, slash, under = plain.lower().partition("/")
    if plain.lower() in UNITS:
        return UNITS[plain.lower()]
    if slash and over in UNITS and under in {"second", "s"}:
        base, factor = UNITS[over]
        return f"{base}/s", factor
    if slash and over in UNITS:
        base, factor = UNITS[over]
        return f"{base}/{under}", factor
    return plain, 1.0


def _extent(place: str, text: str, most: Extent) -> Extent:
    match = EXTENT.fullmatch(text.strip())
    if match is None:
        raise InputError(place, f"{text[:40]!r} is no extent", "such as (256, 1, 1)")
    x, y, z = (int(one.replace(",", "")) for one in match.groups())
    if not all(1 <= one <= limit for one, limit in zip((x, y, z), most, strict=True)):
        raise InputError(place, f"{text[:40]!r} is no extent that can be launched", f"at most {most}")
    return x, y, z

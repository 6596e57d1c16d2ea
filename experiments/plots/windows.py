"""A fusion window as it grows from the first operator of a chain: registers and spills, occupancy, hit
rates, and the cycles of the whole chain, one line a cap on registers.

Drawn from the windows that `stallscope report` replayed and kept. A ring is where spilling begins, a cross
where growing begins to lose. Sizes that were not replayed leave a gap.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.plots.style import FAINT, KERNEL_COLOURS, TEXT, new_figure, save, tidy
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILE_NAME = "demonstrations.json"
HEIGHT_INCHES = 8.0
GAP = float("nan")
PANELS = (
    ("registers_per_thread", "registers a thread"),
    ("spill_bytes_per_thread", "spilled bytes a thread"),
    ("theoretical_occupancy_pct", "theoretical occupancy [%]"),
    ("l1_hit_pct", "L1 hits of the window [%]"),
    ("l2_hit_pct", "L2 hits of the window [%]"),
    ("cycles", "SM cycles of the whole chain"),
)
MARKS = {"spill_bytes_per_thread": ("spills_from", "o"), "cycles": ("loses_from", "X")}
Row = Mapping[str, Any]


def draw_windows(folder: Path, path: Path) -> None:
    """The picture of a folder's windows, as a PNG."""
    save(windows_figure(windows_in(folder)), path)


def windows_in(folder: Path) -> dict[str, Any]:
    """The windows that a report kept; an InputError says how to get them."""
    path = folder / FILE_NAME
    remedy = "make them by `stallscope report` of a folder with a graph"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = document["windows"]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise InputError(str(path), "has no windows", remedy) from None
    if not isinstance(found, dict) or not found.get("windows"):
        raise InputError(str(path), "has no windows", remedy)
    return found


def windows_figure(document: Mapping[str, Any]) -> Figure:
    """Six panels over the size of the window."""
    figure, panels = new_figure(HEIGHT_INCHES, (1.0, 1.0, 1.0), (1.0, 1.0), share=False)
    sizes = list(range(1, len(document["operators"]) + 1))
    for panel, (key, label) in zip(panels, PANELS, strict=True):
        for at, cap in enumerate(document["caps"]):
            rows = growing(document["windows"], cap)
            values = [_value(rows.get(size), key) for size in sizes]
            words = "no cap" if cap is None else f"at most {cap} registers"
            colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
            panel.plot(sizes, values, ".-", color=colour, linewidth=1.6, markersize=7, label=words)
            _mark(panel, key, document["marks"].get(str(cap), {}), values, colour)
        panel.set_ylabel(label)
        panel.set_xticks(sizes)
        panel.set_ylim(bottom=0)
        if label.endswith("[%]"):
            panel.set_ylim(0, 105)
        else:
            panel.yaxis.set_major_formatter("{x:,.0f}")
        panel.grid(color=FAINT, linewidth=0.5, alpha=0.6)
        panel.set_axisbelow(True)
        tidy(panel)
    for panel in panels[3:]:
        panel.set_xlabel("operators in the window (1: no fusion)")
    panels[0].legend(fontsize=8, frameon=False, loc="best")
    chain = " → ".join(one["kind"] for one in document["operators"])
    title = f"A window over {chain}: {document['gpu']}"[:130]
    if document.get("share"):
        title += f"\non a slice in place of the whole: {document['share']}"
    figure.suptitle(title, fontsize=11, color=TEXT, x=0.01, ha="left")
    return figure


def growing(rows: Sequence[Row], cap: int | None) -> dict[int, Row]:
    """Windows that begin with the chain's first operator, by size."""
    return {row["size"]: row for row in rows if row["cap"] == cap and not row["first"]}


def _value(row: Row | None, key: str) -> float:
    value = None if row is None else row.get(key)
    return GAP if value is None else float(value)


def _mark(
    panel: Axes, key: str, marks: Mapping[str, int | None], values: Sequence[float], colour: str
) -> None:
    name, sign = MARKS.get(key, ("", ""))
    size = marks.get(name)
    if size:
        face = "none" if sign == "o" else colour
        panel.plot(
            size,
            values[size - 1],
            sign,
            color=colour,
            markersize=12,
            markeredgewidth=1.5,
            markerfacecolor=face,
        )

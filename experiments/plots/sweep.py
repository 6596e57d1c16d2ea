"""A sweep as curves and heat maps: cycles along one key, a line a value of another, and the best line of each
place.

The mark on a curve says what registers do there: a cross where threads spill, an open circle where registers
limit the blocks of an SM, a filled one where they do neither. In the heat map a star is the fastest line of
each column, so that a row of stars is the sweet spot. Holes stay empty: grey, and never interpolated.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.plots.style import FAINT, KERNEL_COLOURS, TEXT, new_figure, save, tidy
from experiments.plots.sweep_choice import FREE, LIMITED, SPILLS, Panel, Roles, panels_of, roles_of
from experiments.sweep.table import read_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = {SPILLS: "X", LIMITED: "o", FREE: "o"}
WORDS = {
    SPILLS: "threads spill",
    LIMITED: "registers limit the blocks of an SM",
    FREE: "registers limit nothing",
}
UNITS = {
    "gpu.register_file.size_kib": "register file [KiB an SM]",
    "workload.window": "window [operators a kernel]",
    "registers.cap": "cap [registers a thread]",
    "gpu.clock_mhz": "SM clock [MHz]",
    "gpu.l2.size_kib": "L2 [KiB]",
    "workload.batch": "batch",
}
HEIGHT_INCHES = 9.0
APART = 0.075
"""How far the marks of neighbouring lines stand from each other: equal cycles must not hide a mark."""
MOST_WRITTEN = 96
"""Cells of a heat map that have their number written in."""


def draw_sweep(folder: Path, path: Path) -> None:
    """Draw the picture of a sweep's folder into a PNG."""
    save(sweep_figure(folder), path)


def sweep_figure(folder: Path) -> Figure:
    """The picture; an InputError where the sweep has no numeric key to draw along."""
    table = read_sweep(folder)
    roles = roles_of(table)
    panels = panels_of(table, roles)
    figure, axes = new_figure(HEIGHT_INCHES, [1.0] * len(panels), [1.15, 1.0], share=False)
    curves, heats = axes[: len(panels)], axes[len(panels) :]
    for panel, curve, heat in zip(panels, curves, heats, strict=True):
        _curves(curve, panel, roles, first=panel is panels[0])
        _heat(heat, panel, roles, first=panel is panels[0])
    _legend(figure, panels[0], roles)
    figure.suptitle(_title(table, roles), x=0.01, ha="left", fontsize=12, color=TEXT, fontweight="bold")
    return figure


def _title(table: Any, roles: Roles) -> str:
    cards = ", ".join(dict.fromkeys(map(str, table["gpu"])))
    best = f"; fastest of every {' and '.join(roles.best_of)}" if roles.best_of else ""
    return f"Cycles of a sweep: {cards}{best}"


def _curves(axes: Axes, panel: Panel, roles: Roles, *, first: bool) -> None:
    places = range(len(panel.along))
    for number, (line, colour) in enumerate(zip(panel.lines, KERNEL_COLOURS, strict=False)):
        points = [panel.places[line, along] for along in panel.along]
        aside = APART * (number - (len(panel.lines) - 1) / 2)
        axes.plot(
            [at + aside for at in places],
            [point.cycles for point in points],
            color=colour,
            linewidth=1.6,
            zorder=2,
        )
        for at, point in enumerate(points):
            if point.row is not None:
                axes.plot(
                    at + aside,
                    point.cycles,
                    marker=MARKS[point.regime],
                    color=colour,
                    markerfacecolor="white" if point.regime == LIMITED else colour,
                    markersize=8,
                    zorder=3,
                )
    axes.set_ylim(bottom=0)
    _ticks(axes, panel.along, roles.along)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    if first:
        axes.set_ylabel("SM cycles in kernels")
    tidy(axes, panel.title)


def _heat(axes: Axes, panel: Panel, roles: Roles, *, first: bool) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    shades = colormaps["cividis_r"].with_extremes(bad="#d0d0d0")
    cells = [[_above_best(panel, line, along) for along in panel.along] for line in panel.lines]
    axes.imshow(cells, cmap=shades, norm=Normalize(0, 100), aspect="auto", origin="lower")
    for at, along in enumerate(panel.along):
        best = panel.best(along)
        for row, line in enumerate(panel.lines):
            place = panel.places[line, along]
            above = cells[row][at]
            ink = "white" if above > 55 else "#111111"
            if place.row is None:
                axes.text(at, row, "hole", ha="center", va="center", fontsize=8, color="#555555")
                continue
            if len(panel.lines) * len(panel.along) > MOST_WRITTEN:
                continue
            star = "★ " if place is best else ""
            spill = "\nspills" if place.regime == SPILLS else ""
            text = f"{star}+{above:.0f} %{spill}"
            axes.text(at, row, text, ha="center", va="center", fontsize=8, color=ink)
    _ticks(axes, panel.along, roles.along)
    axes.set_yticks(range(len(panel.lines)), [str(line) for line in panel.lines])
    if first:
        axes.set_ylabel(UNITS.get(roles.lines, roles.lines))
    tidy(axes, "slower than the fastest of its column; ★ the fastest")


def _above_best(panel: Panel, line: Any, along: Any) -> float:
    best = panel.best(along)
    cycles = panel.places[line, along].cycles
    if best is None or math.isnan(cycles) or not best.cycles:
        return float("nan")
    return 100 * (cycles - best.cycles) / best.cycles


def _ticks(axes: Axes, along: tuple[Any, ...], key: str) -> None:
    """Values stand at equal distances: register files and caches double from one to the next."""
    axes.set_xticks(range(len(along)), [str(value) for value in along])
    axes.set_xlabel(UNITS.get(key, key))


def _legend(figure: Figure, panel: Panel, roles: Roles) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, linewidth=2, label=str(line))
        for line, colour in zip(panel.lines, KERNEL_COLOURS, strict=False)
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=MARKS[regime],
            color=TEXT,
            markerfacecolor="white" if regime == LIMITED else TEXT,
            label=WORDS[regime],
        )
        for regime in (SPILLS, LIMITED, FREE)
    ]
    figure.legend(
        handles=handles,
        title=UNITS.get(roles.lines, roles.lines),
        loc="outside lower left",
        ncols=len(handles),
        fontsize=9,
        title_fontsize=9,
        frameon=False,
    )

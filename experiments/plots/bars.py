"""Stacked horizontal bars in groups: one group a variant, one bar a kernel, segments in the order of their
legend.

Shared by the pictures of latency and of stalls. A segment carries its number where it is wide enough to
hold it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plots.style import FAINT, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROWEST_LABEL = 0.035
"""Share of the axis that a segment needs to carry a number."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its group, its label, and its segments by name."""

    group: str
    label: str
    segments: Mapping[str, float]

    @property
    def total(self) -> float:
        """Length of the whole bar."""
        return sum(self.segments.values())


def positions(bars: Sequence[Bar]) -> tuple[list[float], list[tuple[float, str]]]:
    """Where each bar stands from the top, and where each group's heading does."""
    places: list[float] = []
    headings: list[tuple[float, str]] = []
    at, last = 0.0, None
    for bar in bars:
        if bar.group != last:
            at += 0.35 if headings else 0.0
            headings.append((at, bar.group))
            at += 1.0
            last = bar.group
        places.append(at)
        at += 1.0
    return places, headings


def height_inches(bars: Sequence[Bar], legend_rows: int) -> float:
    """A height at which bars keep the same thickness, however many there are."""
    places, _ = positions(bars)
    return 1.5 + 0.3 * legend_rows + 0.36 * (places[-1] + 1)


def draw_stack(axes: Axes, bars: Sequence[Bar], colours: Mapping[str, str], *, totals: bool) -> None:
    """Draw the bars with their labels, headings and numbers (on demand with the sum at the end)."""
    places, headings = positions(bars)
    longest = max((bar.total for bar in bars), default=0.0) or 1.0
    for bar, place in zip(bars, places, strict=True):
        left = 0.0
        for name, colour in colours.items():
            width = bar.segments.get(name, 0.0)
            if width <= 0:
                continue
            axes.barh(place, width, left=left, height=0.74, color=colour, edgecolor="white", linewidth=0.5)
            if width / longest >= NARROWEST_LABEL:
                axes.text(
                    left + width / 2,
                    place,
                    f"{width:,.0f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=_ink(colour),
                )
            left += width
        if totals:
            axes.text(left + longest * 0.006, place, f"{bar.total:,.0f}", va="center", fontsize=8, color=TEXT)
    axes.set_yticks(places, [bar.label for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim((places[-1] if places else 0) + 0.7, -0.6)
    axes.set_xlim(0, longest * 1.06)
    for place, group in headings:
        axes.text(
            longest * 0.006, place, group, fontsize=10, fontweight="bold", color=TEXT, va="center", ha="left"
        )
    axes.grid(axis="x", color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)


def legend_below(axes: Axes, colours: Mapping[str, str], columns: int) -> None:
    """The legend in the order of the segments, below the picture."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, label=name) for name, colour in _by_rows(colours, columns)]
    axes.figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def _by_rows(colours: Mapping[str, str], columns: int) -> list[tuple[str, str]]:
    """Reorder so that matplotlib, which fills columns first, shows the order along the rows."""
    items = list(colours.items())
    return [item for column in range(columns) for item in items[column::columns]]


def _ink(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else TEXT

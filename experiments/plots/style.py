"""What all pictures share: size, fonts, colours, and the way bars are grouped and a file is written.

Colours are grouped by hardware: one hue a part of the machine, told apart within a part by lightness. The
hues are those of Okabe and Ito (2008), which people with any of the common colour-vision deficiencies can
tell apart; the order in a bar is the order in the legend, so no reading depends on colour alone. A picture
is 1,200 pixels wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from experiments.table import shortened
from simulator.statistics.files import write_with

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simulator.statistics.result import Result

Series: TypeAlias = "npt.NDArray[Any]"

WIDTH_INCHES = 12.0
DPI = 100
TEXT = "#222222"
NEAR_INCHES = (0.22, 0.13)
"""Numbers beside two places that are nearer to each other would overlap."""
FAINT = "#bbbbbb"

PHASE_COLOURS = {
    "lsu_queue": "#0b4f7d",
    "l1": "#3f93c9",
    "mshr": "#a5d0ec",
    "tlb": "#dcecf7",
    "crossbar_request": "#00694f",
    "l2_queue": "#8a5a00",
    "l2": "#e69f00",
    "partition_link": "#f7d794",
    "dram_queue": "#7a2f00",
    "dram_activate": "#b84a00",
    "dram_column": "#e07a3f",
    "dram_burst": "#f2b48f",
    "dram_controller": "#fbe0d1",
    "crossbar_reply": "#57bf9f",
    "writeback": "#8f8f8f",
}
STATE_COLOURS = {
    "selected": "#1b1b1b",
    "drain": "#6e6e6e",
    "membar": "#a8a8a8",
    "barrier": "#f0e442",
    "no_instruction": "#8c3f6b",
    "branch_resolving": "#d9a3c1",
    "long_scoreboard": "#b84a00",
    "short_scoreboard": "#f2a36b",
    "wait": "#0072b2",
    "lg_throttle": "#00694f",
    "mio_throttle": "#57bf9f",
    "math_pipe_throttle": "#8fc7ea",
    "dispatch_stall": "#3f4fa3",
    "not_selected": "#dddddd",
}
KERNEL_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#777777")


def new_figure(
    height_inches: float,
    columns: Sequence[float] = (1.0,),
    rows: Sequence[float] = (1.0,),
    *,
    share: bool = True,
) -> tuple[Figure, list[Axes]]:
    """A figure with its axes, left to right and top to bottom; columns and rows by their relative sizes.

    `share`: the axes of a row have one vertical scale.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        len(rows),
        len(columns),
        squeeze=False,
        sharey="row" if share else False,
        gridspec_kw={"width_ratios": columns, "height_ratios": rows},
    )
    return figure, [axes for row in grid for axes in row]


def tidy(axes: Axes, title: str = "") -> None:
    """Only the lines that help reading."""
    axes.set_title(title, loc="left", fontsize=11, color=TEXT, fontweight="bold")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=9, colors=TEXT)
    axes.xaxis.label.set_size(10)
    axes.yaxis.label.set_size(10)


def save(figure: Figure, path: Path) -> None:
    """Write the PNG whole; the same picture is the same bytes."""
    write_with(path, lambda file: figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None}))


def outline(starts: Series, ends: Series) -> tuple[Series, Callable[[Series], Series]]:
    """Where the corners of a curve of steps stand, and what makes its heights from one value a step.

    A gap between two steps is drawn as zero. One shape is far smaller in a file than a bar a step.
    """
    import numpy as np

    gaps = np.flatnonzero(starts[1:] > ends[:-1]) + 1
    corners = np.column_stack([starts, ends]).ravel()
    places = 2 * gaps
    edges = np.insert(corners, np.repeat(places, 2), np.column_stack([ends[gaps - 1], starts[gaps]]).ravel())

    def stairs(values: Series) -> Series:
        return np.insert(np.repeat(values.astype(float), 2), np.repeat(places, 2), 0.0)

    return edges, stairs


def group_title(result: Result, results: Sequence[Result]) -> str:
    """The heading of a variant's bars; the card is named where there are several."""
    several = len({one.card.name for one in results}) > 1
    card = f"{result.card.name}, " if several else ""
    partial = " (partial)" if result.partial else ""
    return f"{card}{result.variant}{partial}"


def caption(results: Sequence[Result]) -> str:
    """Which card, of what scale: it stands in every picture's title."""
    cards = dict.fromkeys(
        one.card.name if one.card.scale == "1/1" else f"{one.card.name}, {one.card.scale} of the card"
        for one in results
    )
    return "; ".join(cards)


def kernel_name(name: str) -> str:
    """A kernel's name that fits beside a bar."""
    return shortened(name, 40)


def numbered(
    axes: Axes, places: Sequence[tuple[float, float]], offset: tuple[float, float] = (6, -3)
) -> None:
    """Write 1, 2, … beside places in a panel whose limits are set; places that would cover each other share
    their words, such as 2, 5.
    """
    near_x, near_y = (inches * axes.figure.dpi for inches in NEAR_INCHES)
    groups: list[tuple[tuple[float, float], tuple[float, float], list[int]]] = []
    for number, place in enumerate(places, start=1):
        x, y = map(float, axes.transData.transform(place))
        for (other_x, other_y), _, numbers in groups:
            if abs(other_x - x) < near_x and abs(other_y - y) < near_y:
                numbers.append(number)
                break
        else:
            groups.append(((x, y), place, [number]))
    for _, place, numbers in groups:
        axes.annotate(
            ", ".join(map(str, numbers)),
            place,
            offset,
            textcoords="offset points",
            fontsize=8,
            color=TEXT,
            zorder=6,
        )

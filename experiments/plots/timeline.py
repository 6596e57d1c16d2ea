"""The run on one time axis: kernels on their streams, and what resident warps did meanwhile.

Two panels a variant: bars are kernels, numbered in the order of their launches; below, warps of an SM by
state, interval by interval, stacked in the order in which states are counted. Launch gaps are the empty
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from experiments.plots.bars import legend_below
from experiments.plots.style import (
    FAINT,
    KERNEL_COLOURS,
    STATE_COLOURS,
    TEXT,
    caption,
    group_title,
    kernel_name,
    new_figure,
    outline,
    tidy,
)
from hwmodels.errors import InputError
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FS_PER_US = 10**9
STREAM_INCHES = 0.42
STATES_INCHES = 1.6
MOST_LABELS = 24
LEGEND_COLUMNS = 7


def timeline_figure(results: Sequence[Result]) -> Figure:
    """The picture; an InputError for results that were replayed without intervals."""
    if all(result.intervals.empty for result in results):
        raise InputError(
            "timeline", "these results have no intervals", "replay with intervals.cycles above 0"
        )
    heights = [height for result in results for height in (_strip(result), STATES_INCHES)]
    figure, panels = new_figure(1.4 + sum(heights) + 0.45 * len(heights), rows=heights)
    end_us = max(result.time_us for result in results) or 1.0
    for at, result in enumerate(results):
        upper, lower = panels[2 * at], panels[2 * at + 1]
        _kernels(upper, result)
        tidy(upper, group_title(result, results))
        _states(lower, result)
        tidy(lower)
        for axes in (upper, lower):
            axes.set_xlim(0, end_us * 1.01)
    used = {name for result in results for name in STATE_COLOURS if result.intervals[name].sum()}
    colours = {name: colour for name, colour in STATE_COLOURS.items() if name in used}
    panels[-1].set_xlabel("time from the start, launch gaps included [µs]")
    legend_below(panels[-1], colours, min(LEGEND_COLUMNS, len(colours)))
    figure.suptitle(f"Timeline: {caption(results)}", fontsize=12, color=TEXT, x=0.01, ha="left")
    return figure


def _strip(result: Result) -> float:
    streams = len({header.stream for header in result.source.headers})
    labels = min(len(result.kernels), MOST_LABELS)
    return max(STREAM_INCHES * streams, 0.17 * labels, STREAM_INCHES)


def _kernels(axes: Axes, result: Result) -> None:
    streams = list(dict.fromkeys(header.stream for header in result.source.headers))
    labels = result.source.labels
    for at, kernel in enumerate(result.record.kernels):
        start, end = kernel.start_fs / FS_PER_US, kernel.end_fs / FS_PER_US
        row = streams.index(kernel.stream)
        text = f"{at + 1}  {kernel_name(labels[at])}" if at < MOST_LABELS else None
        colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
        axes.barh(row, end - start, left=start, height=0.7, color=colour, label=text)
        if at < MOST_LABELS:
            axes.text(
                (start + end) / 2,
                row,
                str(at + 1),
                ha="center",
                va="center",
                fontsize=8,
                color=TEXT,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8},
            )
    axes.set_yticks(range(len(streams)), [f"stream {number}" for number in streams])
    axes.set_ylim(len(streams) - 0.5, -0.5)
    axes.tick_params(axis="x", labelbottom=False)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.05))


def _states(axes: Axes, result: Result) -> None:
    period_us = result.record.sm_period_fs / FS_PER_US
    names = list(STATE_COLOURS)
    rows = result.intervals.groupby(["start_cycle", "end_cycle"])[names].sum().reset_index()
    starts, ends = rows["start_cycle"].to_numpy(), rows["end_cycle"].to_numpy()
    edges, stairs = outline(starts * period_us, ends * period_us)
    below = 0.0 * edges
    for name in names:
        above = below + stairs(rows[name].to_numpy() / ((ends - starts) * result.record.sm_count))
        if (above > below).any():
            axes.fill_between(edges, below, above, color=STATE_COLOURS[name], linewidth=0)
        below = above
    axes.set_ylim(0, result.card.warp_slots)
    axes.set_ylabel("warps of an SM")
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)

"""Resident warps of an SM over time, kernel by kernel, with the most that fits and what limits it.

One panel a variant, all on one time axis, so that launch gaps and a shorter run are seen. The steps are
averages over an interval and over all SMs; the dashed line is the theoretical occupancy of each kernel,
named with its limiters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from experiments.plots.style import (
    FAINT,
    KERNEL_COLOURS,
    TEXT,
    caption,
    group_title,
    kernel_name,
    new_figure,
    tidy,
)
from hwmodels.errors import InputError
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST_PANEL_INCHES = 2.0
LEGEND_INCHES = 0.34
MOST_LABELS = 24
FS_PER_US = 10**9


def occupancy_figure(results: Sequence[Result]) -> Figure:
    """The picture; an InputError for results that were replayed without intervals."""
    if all(result.intervals.empty for result in results):
        raise InputError(
            "occupancy", "these results have no intervals", "replay with intervals.cycles above 0"
        )
    heights = [_height_inches(result) for result in results]
    figure, panels = new_figure(0.8 + sum(heights) + 0.4 * len(heights), rows=heights)
    end_us = max(result.time_us for result in results) or 1.0
    for axes, result in zip(panels, results, strict=True):
        _panel(axes, result, end_us)
        tidy(axes, group_title(result, results))
        axes.set_xlim(0, end_us * 1.01)
        axes.set_ylim(0, result.card.warp_slots * 1.12)
        axes.set_ylabel("warps of an SM")
    panels[-1].set_xlabel("time from the start, launch gaps included [µs]")
    figure.suptitle(
        f"Resident warps over time: {caption(results)}", fontsize=12, color=TEXT, x=0.01, ha="left"
    )
    return figure


def _panel(axes: Axes, result: Result, end_us: float) -> None:
    period_us = result.record.sm_period_fs / FS_PER_US
    slots = result.card.warp_slots
    axes.axhline(slots, color=TEXT, linewidth=0.8)
    axes.text(end_us, slots * 1.02, f"{slots} warp slots", fontsize=8, ha="right", va="bottom", color=TEXT)
    for at, row in enumerate(result.kernels.to_dict("records")):
        colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
        own = result.intervals[result.intervals["kernel"] == row["kernel"]]
        edges = [*own["start_cycle"], *own["end_cycle"][-1:]]
        if edges:
            times = [edge * period_us for edge in edges]
            label = f"{at + 1}  {_label(row)}" if at < MOST_LABELS else None
            axes.stairs(own["active_warps_per_sm"], times, fill=True, color=colour, alpha=0.75, label=label)
            _limit(axes, result, at, row)
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _limit(axes: Axes, result: Result, at: int, row: dict[str, Any]) -> None:
    kernel = [one for place, one in enumerate(result.record.kernels) if result.source.begun(place)][at]
    warps = row["blocks_per_sm"] * -(-row["threads_per_block"] // 32)
    start_us, end_us = kernel.start_fs / FS_PER_US, kernel.end_fs / FS_PER_US
    axes.hlines(warps, start_us, end_us, colors=TEXT, linestyles="dashed", linewidth=1.2)
    if at < MOST_LABELS:
        # The number ties an area to its line of the legend without help from the colour.
        axes.text((start_us + end_us) / 2, 0.8, str(at + 1), ha="center", va="bottom", fontsize=8, color=TEXT)


def _height_inches(result: Result) -> float:
    labels = min(len(result.kernels), MOST_LABELS)
    return max(LOWEST_PANEL_INCHES, LEGEND_INCHES * labels)


def _label(row: dict[str, Any]) -> str:
    limiters = row["limiters"].replace(";", " and ").replace("_", " ") or "nothing"
    fits, achieved = row["theoretical_occupancy_pct"], row["achieved_occupancy_pct"]
    return f"{kernel_name(row['kernel'])}\n{fits:.0f} % by {limiters}, achieved {achieved:.0f} %"

"""Bandwidth over time: what went between L2 and DRAM, and between the SMs and L2, interval by interval.

One panel a variant on one time axis. Reads and writes of DRAM are stacked against its peak; the line is
L2. Each step is an average over an interval, so a short peak is lower than it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from experiments.plots.style import FAINT, TEXT, caption, group_title, new_figure, outline, tidy
from hwmodels.errors import InputError
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = 2.2
FS_PER_US = 10**9
BYTES_PER_US_IN_GB_S = 1_000
READ, WRITE, L2 = "#b84a00", "#f2b48f", "#0072b2"


def bandwidth_figure(results: Sequence[Result]) -> Figure:
    """The picture; an InputError for results that were replayed without intervals."""
    if all(result.intervals.empty for result in results):
        raise InputError(
            "bandwidth", "these results have no intervals", "replay with intervals.cycles above 0"
        )
    figure, panels = new_figure(1.0 + (PANEL_INCHES + 0.4) * len(results), rows=[1.0] * len(results))
    end_us = max(result.time_us for result in results) or 1.0
    top = max(_panel(axes, result) for axes, result in zip(panels, results, strict=True))
    for axes, result in zip(panels, results, strict=True):
        peak = result.card.dram_bytes_per_second / 10**9
        axes.axhline(peak, color=TEXT, linewidth=1.0, linestyle="dashed")
        axes.text(
            end_us, peak, f"DRAM's peak {peak:,.0f} GB/s", fontsize=8, ha="right", va="bottom", color=TEXT
        )
        tidy(axes, group_title(result, results))
        axes.set_xlim(0, end_us * 1.01)
        axes.set_ylim(0, max(top, peak) * 1.12)
        axes.set_ylabel("GB/s")
        axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
    panels[0].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    panels[-1].set_xlabel("time from the start, launch gaps included [µs]")
    figure.suptitle(f"Bandwidth over time: {caption(results)}", fontsize=12, color=TEXT, x=0.01, ha="left")
    return figure


def _panel(axes: Axes, result: Result) -> float:
    """Draw one variant; the highest value drawn."""
    period_us = result.record.sm_period_fs / FS_PER_US
    columns = ["dram_read_bytes", "dram_write_bytes", "l2_bytes"]
    rows = result.intervals.groupby(["start_cycle", "end_cycle"])[columns].sum().reset_index()
    if rows.empty:
        return 0.0
    starts = rows["start_cycle"].to_numpy() * period_us
    ends = rows["end_cycle"].to_numpy() * period_us
    read, write, l2 = (rows[name].to_numpy() / (ends - starts) / BYTES_PER_US_IN_GB_S for name in columns)
    edges, stairs = outline(starts, ends)
    axes.fill_between(edges, 0 * edges, stairs(read), color=READ, linewidth=0, label="DRAM reads")
    axes.fill_between(
        edges, stairs(read), stairs(read + write), color=WRITE, linewidth=0, label="DRAM writes"
    )
    axes.plot(edges, stairs(l2), color=L2, linewidth=1.2, label="L2")
    return float(max((read + write).max(), l2.max()))

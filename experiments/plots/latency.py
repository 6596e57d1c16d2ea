"""Where the time of memory requests went: mean latency by phase, kernel by kernel, fused beside unfused.

One bar is one kind of request of one kernel; its length is the mean latency from issue to write-back, in SM
cycles, and its segments are the phases in the order in which a request lives through them. Stores and
reductions are posted and no warp waits for them: they are left out unless there is nothing else, and stand in
latency.csv.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from experiments.plots.bars import Bar, draw_stack, height_inches, legend_below
from experiments.plots.style import PHASE_COLOURS, caption, group_title, kernel_name, new_figure, tidy
from hwmodels.errors import InputError
from simulator.statistics.result import Result

LEGEND_COLUMNS = 8
POSTED = ("store", "reduction")


def latency_figure(results: Sequence[Result]) -> Figure:
    """The picture; an InputError when no kernel made a memory request."""
    bars = [bar for result in results for bar in _bars(result, group_title(result, results))]
    if not bars:
        raise InputError("latency", "no kernel made a memory request", "plot another kind")
    used = {name for bar in bars for name, width in bar.segments.items() if width > 0}
    colours = {name: colour for name, colour in PHASE_COLOURS.items() if name in used}
    figure, (axes,) = new_figure(height_inches(bars, -(-len(colours) // LEGEND_COLUMNS)))
    draw_stack(axes, bars, colours, totals=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("mean latency of a warp's request [SM cycles]")
    tidy(axes, f"Where the time of memory requests went: {caption(results)}")
    legend_below(axes, colours, min(LEGEND_COLUMNS, len(colours)))
    return figure


def _bars(result: Result, group: str) -> list[Bar]:
    bars = []
    table = result.latency
    awaited = table[~table["operation"].isin(POSTED)]
    if not awaited.empty:
        table = awaited
    for (kernel, space, operation), rows in table.groupby(["kernel", "space", "operation"], sort=False):
        segments = dict(zip(rows["phase"], rows["mean_cycles"], strict=True))
        kind = f"{space} {operation}".replace("_", " ")
        label = f"{kernel_name(kernel)} · {kind} ({_short(int(rows['requests'].iloc[0]))})"
        bars.append(Bar(group, label, segments))
    return bars


def _short(count: int) -> str:
    """A count of requests in three digits: 812, 12.4k, 1.3M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return str(count)

"""What resident warps waited for: each kernel's warp-cycles by state, and how many warp-cycles that were.

States stand in the order in which they are counted and under the profiler's names. On the left the shares
of a kernel, on the right its total, since a kernel that waits half as long for the same reason shows the
same shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from experiments.plots.bars import Bar, draw_stack, height_inches, legend_below, positions
from experiments.plots.style import FAINT, STATE_COLOURS, caption, group_title, kernel_name, new_figure, tidy
from hwmodels.errors import InputError
from simulator.statistics.result import Result

LEGEND_COLUMNS = 7


def stalls_figure(results: Sequence[Result]) -> Figure:
    """The picture; an InputError when no warp was ever resident."""
    bars, totals = [], []
    for result in results:
        group = group_title(result, results)
        for kernel, rows in result.stalls.groupby("kernel", sort=False):
            total = int(rows["warp_cycles"].sum())
            shares = dict(zip(rows["reason"], rows["pct"], strict=True)) if total else {}
            bars.append(Bar(group, kernel_name(str(kernel)), shares))
            totals.append(total)
    if not any(totals):
        raise InputError("stalls", "no warp was ever resident", "plot another kind")
    used = {name for bar in bars for name, width in bar.segments.items() if width > 0}
    colours = {name: colour for name, colour in STATE_COLOURS.items() if name in used}
    rows_of_legend = -(-len(colours) // LEGEND_COLUMNS)
    figure, (shares_axes, total_axes) = new_figure(height_inches(bars, rows_of_legend), (4.0, 1.0))
    draw_stack(shares_axes, bars, colours, totals=False)
    shares_axes.set_xlim(0, 100)
    shares_axes.set_xlabel("share of resident warp-cycles [%]")
    tidy(shares_axes, f"What warps waited for: {caption(results)}")
    places, _ = positions(bars)
    size, unit = (1_000_000, "million") if max(totals) >= 1_000_000 else (1_000, "thousand")
    lengths = [total / size for total in totals]
    drawn = total_axes.barh(places, lengths, height=0.74, color="#8f8f8f")
    total_axes.bar_label(drawn, fmt="{:,.3g}" if max(lengths) < 100 else "{:,.0f}", padding=3, fontsize=8)
    total_axes.set_xlim(0, max(lengths) * 1.35)
    total_axes.set_xlabel(f"warp-cycles [{unit}]")
    total_axes.tick_params(axis="y", length=0)
    total_axes.grid(axis="x", color=FAINT, linewidth=0.5, alpha=0.6)
    total_axes.set_axisbelow(True)
    tidy(total_axes)
    legend_below(shares_axes, colours, min(LEGEND_COLUMNS, len(colours)))
    return figure

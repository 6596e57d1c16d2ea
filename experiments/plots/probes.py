"""A card's curves in one picture: what the model answers as lines, what was published as open circles.

One panel a kind of curve; panels of which there is no row are left out. Axes over sizes and threads are
logarithmic, with the card's own capacities marked where an edge is expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plots.style import FAINT, KERNEL_COLOURS, TEXT, new_figure, tidy
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.probes.row import Row
    from hwmodels import Gpu

COLUMNS = 2
PANEL_INCHES = 3.4
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its title, axes, and the prefix of the series that it holds."""

    title: str
    prefix: str
    across: str
    up: str
    sizes: bool = False
    logarithmic: bool = False


PANELS = (
    Panel("Pointer chase", "chase", "footprint", "SM cycles a load", sizes=True),
    Panel(
        "Read bandwidth, every SM the same buffer",
        "read, ",
        "working set",
        "GB/s",
        sizes=True,
        logarithmic=True,
    ),
    Panel("Streams", "stream ", "resident threads an SM", "GB/s", logarithmic=True),
    Panel("L1 loads by stride", "L1 strides", "stride, 4-byte elements", "SM cycles a warp load"),
    Panel("Shared-memory bank conflicts", "bank conflicts", "ways", "SM cycles"),
    Panel("Barriers", "barriers", "warps of a block", "SM cycles"),
)


def probes_figure(gpu: Gpu, rows: Sequence[Row]) -> Figure:
    """The picture of one card; an InputError if no row is a point of a curve."""
    held = [(panel, _series(panel, rows)) for panel in PANELS]
    held = [(panel, series) for panel, series in held if series]
    if not held:
        raise InputError("--out", "none of these probes gives a curve", "add --what chase, cliffs or streams")
    lines = -(-len(held) // COLUMNS)
    columns = min(COLUMNS, len(held))
    figure, axes = new_figure(PANEL_INCHES * lines + 0.6, [1.0] * columns, [1.0] * lines, share=False)
    for place, (panel, series) in enumerate(held):
        _draw(axes[place], panel, series, gpu)
    for spare in axes[len(held) :]:
        spare.set_visible(False)
    figure.suptitle(
        f"{gpu.name}: lines ours, circles published",
        x=0.01,
        ha="left",
        fontsize=12,
        color=TEXT,
    )
    return figure


def _series(panel: Panel, rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.x is not None and row.series.startswith(panel.prefix):
            found.setdefault(row.series, []).append(row)
    return {name: sorted(points, key=lambda one: one.x or 0.0) for name, points in found.items()}


def _draw(axes: Axes, panel: Panel, series: dict[str, list[Row]], gpu: Gpu) -> None:
    for colour, (name, points) in zip(KERNEL_COLOURS, series.items(), strict=False):
        across = [one.x or 0.0 for one in points]
        axes.plot(across, [one.ours for one in points], color=colour, linewidth=1.6, marker=".", label=name)
        known = [(one.x or 0.0, one.published.value) for one in points if one.published]
        if known:
            axes.plot(
                [x for x, _ in known],
                [y for _, y in known],
                color=colour,
                linestyle="none",
                marker="o",
                markersize=7,
                markerfacecolor="none",
            )
    tidy(axes, panel.title)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    if panel.sizes:
        _size_axis(axes, gpu)
    elif panel.logarithmic:
        axes.set_xscale("log", base=2)
    if panel.logarithmic and panel.sizes:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(visible=True, color=FAINT, linewidth=0.4)
    if len(series) > 1:
        axes.legend(fontsize=8, frameon=False)


def _size_axis(axes: Axes, gpu: Gpu) -> None:
    """Bytes in powers of four, and the capacities of the card."""
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [1 << power for power in range(10, 36, 3) if low <= 1 << power <= high]
    axes.set_xticks(ticks, [_size(tick) for tick in ticks])
    near = gpu.l2.size_kib * KIB // gpu.l2.partitions
    edges = {"L1": gpu.l1.usable_kib(0) * KIB, "L2": gpu.l2.size_kib * KIB}
    if gpu.l2.partitions > 1:
        edges["near L2"] = near
    for name, edge in edges.items():
        if low <= edge <= high:
            axes.axvline(edge, color=FAINT, linewidth=1.0, linestyle="--")
            axes.annotate(
                name, (edge, 1.0), xytext=(-3, -2), xycoords=("data", "axes fraction"),
                textcoords="offset points", fontsize=8, color=TEXT, ha="right", va="top", rotation=90,
            )  # fmt: skip


def _size(size: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size // KIB} KiB"

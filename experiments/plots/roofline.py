"""Roofline: how fast each kernel computes against what it moves at each level of the memory.

A kernel has one speed and one intensity a level, so it stands as up to three marks on one height, tied by
a line: DRAM, L2 and L1 (with shared memory). Slanted lines are the levels' bandwidths, flat ones the
units' peaks. Operations are those that were executed, as the profiler counts them: of a convolution with 3
channels that is stored with 4, or a tile that reaches beyond the image, padding counts too. Kernels without
floating-point operations have no place in it and are named in the legend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from experiments.plots.style import (
    FAINT,
    KERNEL_COLOURS,
    TEXT,
    caption,
    group_title,
    kernel_name,
    new_figure,
    numbered,
    tidy,
)
from experiments.plots.work import floating_point_operations, peak_per_second
from hwmodels.errors import InputError
from simulator.statistics.result import Result
from simulator.statistics.source import SECTOR_BYTES, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hwmodels import Gpu

LEVELS = {"DRAM": "o", "L2": "s", "L1": "^"}
LEVEL_COLOURS = {"DRAM": "#b84a00", "L2": "#8a5a00", "L1": "#0b4f7d"}
FS_PER_SECOND = 10**15
MOST_KERNELS = 24
GIGA = 10**9
L1_KINDS = ("global_load", "local_load", "async_copy", "global_store", "local_store", "global_atomic")


@dataclass(frozen=True, slots=True)
class Point:
    """One kernel: its speed, and its operations a byte at each level that it used."""

    label: str
    per_second: float
    intensities: Mapping[str, float]


def roofline_figure(results: Sequence[Result], gpus: Mapping[str, Gpu] | None = None) -> Figure:
    """The picture, one panel a card; an InputError when no kernel did floating-point arithmetic."""
    cards = list(dict.fromkeys(result.card.name for result in results))
    panels = [(name, [one for one in results if one.card.name == name]) for name in cards]
    found = {name: points_of(own) for name, own in panels}
    if not any(points for points, _ in found.values()):
        raise InputError("roofline", "no kernel did floating-point arithmetic", "plot another kind")
    heights = [max(5.0, 0.22 * len(found[name][0]) + 1.5) for name, _ in panels]
    figure, axes = new_figure(sum(heights) + 0.6, rows=heights)
    for panel, (name, own) in zip(axes, panels, strict=True):
        _panel(panel, own[0], (gpus or {}).get(name), *found[name])
        tidy(panel, f"Roofline: {caption(own)}")
    return figure


def points_of(results: Sequence[Result]) -> tuple[list[Point], list[str]]:
    """The kernels that compute, and the names of those that don't."""
    points, without = [], []
    for result in results:
        labels = result.source.labels
        for place, kernel in enumerate(result.record.kernels):
            if kernel.end_fs <= kernel.start_fs:
                continue
            label = f"{group_title(result, results)}: {kernel_name(labels[place])}"
            done = sum(floating_point_operations(kernel).values())
            if not done:
                without.append(label)
                continue
            moved = {
                "DRAM": SECTOR_BYTES * count(kernel, "dram_read_sectors", "dram_write_sectors"),
                "L2": SECTOR_BYTES * count(kernel, "l2_read_sectors") + count(kernel, "l2_write_bytes"),
                "L1": SECTOR_BYTES * count(kernel, *(f"l1_{kind}_sectors" for kind in L1_KINDS))
                + count(kernel, "shared_load_bytes", "shared_store_bytes"),
            }
            intensities = {level: done / size for level, size in moved.items() if size}
            speed = done * FS_PER_SECOND / (kernel.end_fs - kernel.start_fs)
            points.append(Point(label, speed, intensities))
    return points, without


def bandwidths(result: Result, gpu: Gpu | None) -> dict[str, float]:
    """Bytes a second of each level; L1's where the card is at hand."""
    card = result.card
    found = {
        "DRAM": float(card.dram_bytes_per_second),
        "L2": card.l2_bytes_per_cycle * FS_PER_SECOND / card.l2_period_fs,
    }
    if gpu is not None:
        found["L1"] = gpu.l1.bytes_per_cycle * card.sm_count * FS_PER_SECOND / card.sm_period_fs
    return found


def _panel(
    axes: Axes, result: Result, gpu: Gpu | None, points: Sequence[Point], without: Sequence[str]
) -> None:
    from matplotlib.lines import Line2D

    peaks = _peaks(result)
    top = max(peaks.values())
    everywhere = [value for point in points for value in point.intensities.values()]
    bands = bandwidths(result, gpu)
    left = min([*everywhere, 0.5]) / 2
    right = max([*everywhere, top / bands["DRAM"]]) * 3
    for level, band in bands.items():
        ends = [left, top / band]
        axes.plot(ends, [x * band / GIGA for x in ends], color=LEVEL_COLOURS[level], linewidth=1.4)
        # Below its line, where the line has risen above the words.
        corner = (left * 1.25, left * 1.25 * band / GIGA * 0.85)
        axes.text(
            *corner,
            f"{level} {band / GIGA:,.0f} GB/s",
            fontsize=8,
            va="top",
            color=LEVEL_COLOURS[level],
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1},
            zorder=5,
        )
    for unit, peak in peaks.items():
        axes.plot([peak / max(bands.values()), right], [peak / GIGA] * 2, color=TEXT, linewidth=1.2)
        words = f"{unit} {peak / GIGA:,.0f} GFLOP/s"
        axes.text(right, peak / GIGA * 1.06, words, fontsize=8, ha="right", color=TEXT)
    for at, point in enumerate(points):
        colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
        places = list(point.intensities.values())
        height = point.per_second / GIGA
        axes.plot([min(places), max(places)], [height] * 2, color=colour, linewidth=0.8, alpha=0.7)
        for level, place in point.intensities.items():
            axes.plot(place, height, LEVELS[level], color=colour, markersize=7, markeredgecolor="white")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(min(point.per_second for point in points) / GIGA / 3, top / GIGA * 2)
    ends = [(max(one.intensities.values()), one.per_second / GIGA) for one in points[:MOST_KERNELS]]
    numbered(axes, ends)
    axes.set_xlabel("arithmetic intensity [FLOP/byte]")
    axes.set_ylabel("executed GFLOP/s, padding included")
    axes.grid(color=FAINT, linewidth=0.5, alpha=0.5)
    axes.set_axisbelow(True)
    handles = [
        Line2D([], [], marker=marker, linestyle="", color=TEXT, label=f"at {level}")
        for level, marker in LEVELS.items()
    ]
    handles += [
        Line2D([], [], color=KERNEL_COLOURS[at % len(KERNEL_COLOURS)], label=f"{at + 1}  {point.label}")
        for at, point in enumerate(points[:MOST_KERNELS])
    ]
    note = [f"{name}: no floating point" for name in without[: max(0, MOST_KERNELS - len(points))]]
    handles += [Line2D([], [], linestyle="", label=text) for text in note]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _peaks(result: Result) -> dict[str, float]:
    """Peaks of the units that any kernel used; single precision is always shown."""
    used = {unit for kernel in result.record.kernels for unit in floating_point_operations(kernel)} | {
        "single"
    }
    peaks = {unit: peak_per_second(result.card, unit) for unit in ("tensor", "half", "single", "double")}
    return {unit: peak for unit, peak in peaks.items() if peak and unit in used}

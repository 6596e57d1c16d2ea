"""A plan as a picture: operators in launch order with the groups that share a kernel, an arc for every value
coloured by where it lives, and below all windows by size and time saved, with the Pareto front and both
marks.

A long model is cut after `MOST_OPERATORS` operators, which the title says; the JSON has all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.plots.style import FAINT, TEXT, new_figure, save, tidy
from simulator.fusion.windows import LOSES, SPILLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_OPERATORS = 28
MOST_WINDOWS = 400
PLACES = {
    "registers": "#0072b2",
    "shared memory": "#56b4e9",
    "L2 by chance": "#e69f00",
    "global memory": "#b84a00",
    "view": "#8f8f8f",
}
BANDS = ("#e8f0f7", "#f6ecd9")
SHORT = {"BatchNormalization": "BN"}


def draw_plan(document: dict[str, Any], path: Path) -> None:
    """The picture of a plan's document, as a PNG."""
    save(plan_figure(document), path)


def plan_figure(document: dict[str, Any]) -> Figure:
    """Groups and arcs, and windows where the document has them."""
    windows = document.get("windows") or []
    figure, axes = new_figure(8.0 if windows else 4.6, (1.0,), (1.0, 1.0) if windows else (1.0,))
    draw_groups(axes[0], document)
    if windows:
        draw_windows(axes[1], windows[:MOST_WINDOWS])
    return figure


def draw_groups(axes: Axes, document: dict[str, Any]) -> None:
    """Operators along a line, banded by kernel, with an arc for each value."""
    from matplotlib.patches import Arc

    places: dict[str, float] = {}
    at = 0
    for number, group in enumerate(document["groups"]):
        first = at
        for name, kind in zip(group["operators"], group["kinds"], strict=True):
            if at >= MOST_OPERATORS:
                break
            if name not in places:
                places[name] = at
            axes.text(
                at, -0.25, f"{name}\n{SHORT.get(kind, kind)}", rotation=90, ha="center", va="top", fontsize=8
            )
            at += 1
        if at > first:
            axes.axvspan(first - 0.5, at - 0.5, color=BANDS[number % len(BANDS)], zorder=0)
            label = f"{group['registers_per_thread']} reg" if not group["view"] else "view"
            spilled = (
                f"\n{group['spill_bytes_per_thread']} B spilled" if group["spill_bytes_per_thread"] else ""
            )
            axes.text(
                (first + at - 1) / 2, -0.02, label + spilled, ha="center", va="top", fontsize=7, color=TEXT
            )
    highest = 1.0
    used = {}
    for edge in document["dataflow"]["edges"]:
        ends = [places.get(edge["producer"]), places.get(edge["consumer"])]
        if ends[0] is None or ends[1] is None:
            continue
        span = abs(ends[1] - ends[0])
        height = 0.5 + 0.35 * span**0.7
        highest = max(highest, height)
        colour = PLACES[edge["lives_in"]]
        used[edge["lives_in"]] = colour
        middle = (ends[0] + ends[1]) / 2
        axes.add_patch(Arc((middle, 0.05), span, 2 * height, theta1=0, theta2=180, color=colour, lw=1.8))
    shown = min(at, MOST_OPERATORS)
    axes.set_xlim(-0.7, max(shown, 4) - 0.3)
    axes.set_ylim(-1.35 - 0.04 * highest, highest * 1.15)
    cut = f", the first {shown} of {document['nodes']} operators" if document["nodes"] > shown else ""
    tidy(
        axes,
        f"{document['model']}, {document['strategy']} on {document['gpu']}: {document['kernels_before']} "
        f"kernels before, {document['kernels_after']} after{cut}",
    )
    axes.set_yticks([])
    axes.set_xticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    handles = [axes.plot([], [], color=colour, lw=2, label=place)[0] for place, colour in used.items()]
    if handles:
        axes.legend(handles=handles, title="values live in", fontsize=8, title_fontsize=8, loc="upper right")


def draw_windows(axes: Axes, windows: list[dict[str, Any]]) -> None:
    """Size against time saved; colour is occupancy, a ring the Pareto front, words the marks."""
    sizes = [len(one["operators"]) for one in windows]
    saved = [one["saved_ns"] / 1000 for one in windows]
    drawn = axes.scatter(
        sizes,
        saved,
        c=[one["occupancy_pct"] for one in windows],
        s=[12 + one["registers"] / 2 for one in windows],
        cmap="cividis",
        vmin=0,
        vmax=100,
        zorder=3,
    )
    front = [at for at, one in enumerate(windows) if one["pareto"]]
    axes.scatter(
        [sizes[at] for at in front],
        [saved[at] for at in front],
        s=[60 + windows[at]["registers"] for at in front],
        facecolors="none",
        edgecolors="#d55e00",
        label="Pareto front: size, registers, occupancy, time",
        zorder=4,
    )
    for mark, shape in ((SPILLS, "v"), (LOSES, "X")):
        here = [at for at, one in enumerate(windows) if mark in one["marks"]]
        if here:
            axes.scatter(
                [sizes[at] for at in here],
                [saved[at] for at in here],
                marker=shape,
                s=70,
                color="#222222",
                label=mark,
                zorder=5,
            )
    axes.axhline(0, color=FAINT, lw=1)
    axes.set_xlabel("operators in the window")
    axes.set_ylabel("µs saved against them alone")
    axes.grid(color=FAINT, lw=0.5, alpha=0.5)
    axes.set_axisbelow(True)
    axes.set_xlim(0.5, max(sizes) + 0.5)
    if max(sizes) <= 30:
        axes.set_xticks(range(1, max(sizes) + 1))
    tidy(axes, "Every legal window; larger dots have more registers")
    axes.figure.colorbar(drawn, ax=axes, label="occupancy [%]", pad=0.01)
    axes.legend(fontsize=8, loc="upper left")

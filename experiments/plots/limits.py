"""Occupancy against what a kernel asks for: registers a thread, shared bytes a block, threads a block.

Each line is one kernel with everything else as it is; its mark is where it stands now. The steps are the
card's own allocation rules, so what a saving buys can be read off: nothing until the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from experiments.plots.style import (
    FAINT,
    KERNEL_COLOURS,
    TEXT,
    caption,
    kernel_name,
    new_figure,
    numbered,
    tidy,
)
from hwmodels.errors import InputError
from simulator.statistics.facts import KernelHeader
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hwmodels import Gpu

PANEL_INCHES = 4.2
MOST_KERNELS = 8
WIDTH, ABOVE = 1.3, 1.1
"""Points of the thinnest line, and by how much each one below it is wider: equal lines are seen all."""
Needs = tuple[int, int, int]
"""Threads a block, registers a thread, shared bytes a block."""


def limits_figure(results: Sequence[Result], gpus: Mapping[str, Gpu] | None = None) -> Figure:
    """The picture, one row a card; an InputError where the cards are not at hand."""
    found = {name: [one for one in results if one.card.name == name] for name in gpus or {}}
    cards = {name: own for name, own in found.items() if own}
    if not cards:
        raise InputError(
            "occupancy-limits",
            "the cards of these results are missing, or lack what this version asks of a card",
            "run the experiment again",
        )
    figure, panels = new_figure(
        PANEL_INCHES * len(cards) + 0.5, columns=(1.0, 1.0, 1.0), rows=[1.0] * len(cards)
    )
    for row, (name, own) in enumerate(cards.items()):
        _row(panels[3 * row : 3 * row + 3], (gpus or {})[name], distinct(own), caption(own))
    figure.suptitle("What occupancy a saving would buy", fontsize=12, color=TEXT, x=0.01, ha="left")
    return figure


def distinct(results: Sequence[Result]) -> dict[Needs, str]:
    """Kernels that ask for different things, by what they ask for; the longest running first."""
    found: dict[Needs, tuple[int, str]] = {}
    for result in results:
        for header, kernel in zip(result.source.headers, result.record.kernels, strict=True):
            needs = _needs(header)
            name = found.get(needs, (0, kernel_name(header.name)))[1]
            found[needs] = (found.get(needs, (0, ""))[0] + kernel.end_fs - kernel.start_fs, name)
    ordered = sorted(found.items(), key=lambda one: -one[1][0])[:MOST_KERNELS]
    return {needs: name for needs, (_, name) in ordered}


def _needs(header: KernelHeader) -> Needs:
    return header.threads_per_block, header.registers_per_thread, header.shared_bytes_per_block


def percent(gpu: Gpu, needs: Needs) -> float:
    """Theoretical occupancy of a kernel that asks for this; 0 for one that can't launch."""
    from hwmodels.occupancy import occupancy

    answer = occupancy(gpu, *needs)
    return 0.0 if answer.cannot_launch else answer.theoretical_pct


def _row(panels: Sequence[Axes], gpu: Gpu, kernels: Mapping[Needs, str], title: str) -> None:
    shared_top = gpu.shared_memory.per_block_max_bytes
    axes_of: tuple[tuple[str, Sequence[int], Callable[[Needs, int], Needs], int, float], ...] = (
        ("registers a thread", range(16, 256), lambda needs, at: (needs[0], at, needs[2]), 1, 1),
        (
            "shared memory of a block [KiB]",
            range(0, shared_top + 1, 512),
            lambda needs, at: (needs[0], needs[1], at),
            2,
            1024,
        ),
        ("threads a block", range(32, 1025, 32), lambda needs, at: (at, needs[1], needs[2]), 0, 1),
    )
    for panel, (label, places, changed, own, unit) in zip(panels, axes_of, strict=True):
        for at, (needs, name) in enumerate(kernels.items()):
            colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
            heights = [percent(gpu, changed(needs, place)) for place in places]
            panel.step(
                [place / unit for place in places],
                heights,
                where="post",
                color=colour,
                linewidth=WIDTH + ABOVE * (len(kernels) - 1 - at),
            )
            threads, registers, shared = needs
            label_of = f"{at + 1}  {name}\n{threads} threads, {registers} registers, {shared:,} B"
            panel.plot(
                needs[own] / unit,
                percent(gpu, needs),
                "o",
                color=colour,
                markersize=7 + 2 * ABOVE * (len(kernels) - 1 - at),
                label=label_of,
            )
        panel.set_xlabel(label)
        panel.set_ylim(0, 112)
        numbered(panel, [(needs[own] / unit, percent(gpu, needs)) for needs in kernels], (8, 9))
        panel.grid(color=FAINT, linewidth=0.5, alpha=0.6)
        panel.set_axisbelow(True)
        tidy(panel)
    panels[0].set_ylabel("theoretical occupancy [%]")
    tidy(panels[0], title)
    panels[2].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))

"""The table of pictures: each kind of `stallscope plot`, and all of them for a result folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from experiments.folder import PLOTS, cards_in
from experiments.plots.bandwidth import bandwidth_figure
from experiments.plots.latency import latency_figure
from experiments.plots.limits import limits_figure
from experiments.plots.occupancy import occupancy_figure
from experiments.plots.roofline import roofline_figure
from experiments.plots.stalls import stalls_figure
from experiments.plots.style import save
from experiments.plots.timeline import timeline_figure
from hwmodels.errors import InputError, unknown
from simulator.statistics.files import make_folder
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from hwmodels import Gpu

Cards = Mapping[str, "Gpu"]
Draws = Callable[[Sequence[Result], Cards], Figure]


def _alone(draws: Callable[[Sequence[Result]], Figure]) -> Draws:
    """A picture that needs no card."""
    return lambda results, _: draws(results)


KINDS: dict[str, Draws] = {
    "latency": _alone(latency_figure),
    "stalls": _alone(stalls_figure),
    "occupancy": _alone(occupancy_figure),
    "occupancy-limits": limits_figure,
    "roofline": roofline_figure,
    "bandwidth": _alone(bandwidth_figure),
    "timeline": _alone(timeline_figure),
}


def figure_of(kind: str, results: Sequence[Result], cards: Cards) -> Figure:
    """One picture; an InputError says when the results have nothing for it."""
    if kind not in KINDS:
        raise unknown("--kind", "kind", kind, KINDS)
    return KINDS[kind](results, cards)


def draw(kind: str, results: Sequence[Result], path: Path, cards: Cards | None = None) -> None:
    """Draw one picture into a PNG; an InputError says when the results have nothing for it."""
    save(figure_of(kind, results, cards or {}), path)


def draw_all(results: Sequence[Result], folder: Path) -> list[Path]:
    """Every picture that the results have something for, into the folder's `plots`."""
    make_folder(folder / PLOTS)
    cards = cards_in(folder)
    drawn = []
    for kind in KINDS:
        path = folder / PLOTS / f"{kind}.png"
        try:
            draw(kind, results, path, cards)
        except InputError:
            # Nothing to draw, such as a run without intervals: a picture left from an earlier run would lie.
            path.unlink(missing_ok=True)
            continue
        drawn.append(path)
    return drawn

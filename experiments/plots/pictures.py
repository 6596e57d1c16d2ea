"""The table of pictures: each kind of `stallscope plot`, and all of them for a result folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from experiments.folder import PLOTS
from experiments.plots.latency import latency_figure
from experiments.plots.occupancy import occupancy_figure
from experiments.plots.stalls import stalls_figure
from experiments.plots.style import save
from hwmodels.errors import InputError, unknown
from simulator.statistics.files import make_folder
from simulator.statistics.result import Result

KINDS: dict[str, Callable[[Sequence[Result]], Figure]] = {
    "latency": latency_figure,
    "stalls": stalls_figure,
    "occupancy": occupancy_figure,
}


def draw(kind: str, results: Sequence[Result], path: Path) -> None:
    """Draw one picture into a PNG; an InputError says when the results have nothing for it."""
    if kind not in KINDS:
        raise unknown("--kind", "kind", kind, KINDS)
    save(KINDS[kind](results), path)


def draw_all(results: Sequence[Result], folder: Path) -> list[Path]:
    """Every picture that the results have something for, into the folder's `plots`."""
    make_folder(folder / PLOTS)
    drawn = []
    for kind in KINDS:
        path = folder / PLOTS / f"{kind}.png"
        try:
            draw(kind, results, path)
        except InputError:
            # Nothing to draw, such as a run without intervals: a picture left from an earlier run would lie.
            path.unlink(missing_ok=True)
            continue
        drawn.append(path)
    return drawn

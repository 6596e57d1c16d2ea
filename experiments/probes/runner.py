"""Runs probes of several cards in processes, longest first, and gives the rows back in the order asked for.

Each part of a probe is a task of its own. A card travels by name and settings: a process reads it again.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from experiments.probes.registry import PROBES
from experiments.probes.row import Row
from experiments.workers import default_workers
from hwmodels import Gpu

Report = Callable[[str, float], None]


def run_probes(
    cards: Sequence[str],
    names: Sequence[str],
    settings: Mapping[str, Any] | None = None,
    *,
    processes: int | None = None,
    report: Report | None = None,
) -> list[Row]:
    """The rows of all these probes on all these cards. `report` gets what is done and the share of it.

    `processes` left out: one a core.
    """
    tasks = [
        (card, name, part, dict(settings or {}))
        for card in cards
        for name in names
        for part in range(len(PROBES[name].parts))
    ]
    done: dict[int, list[Row]] = {}
    processes = processes or default_workers(len(tasks))
    if processes < 2:
        for place, task in enumerate(tasks):
            done[place] = _run(*task)
            _tell(report, task, len(done) / len(tasks))
        return [row for place in range(len(tasks)) for row in done[place]]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        longest_first = sorted(range(len(tasks)), key=lambda place: -PROBES[tasks[place][1]].seconds)
        futures = {pool.submit(_run, *tasks[place]): place for place in longest_first}
        for future in as_completed(futures):
            place = futures[future]
            done[place] = future.result()
            _tell(report, tasks[place], len(done) / len(tasks))
    return [row for place in range(len(tasks)) for row in done[place]]


def _run(card: str, name: str, part: int, settings: dict[str, Any]) -> list[Row]:
    gpu = Gpu.from_card(card)
    if settings:
        gpu = gpu.with_overrides(settings)
    return PROBES[name].parts[part](gpu)


def _tell(report: Report | None, task: tuple[str, str, int, dict[str, Any]], share: float) -> None:
    if report is not None:
        report(f"{task[0]} {task[1]}", share)

"""Calibrates a card: rows and their replays, the fit, its cross-validation, and what it amounts to.

Rows count by groups: a method that was measured ten times weighs no more than one that was measured once.
Only replays that a parameter can move are repeated for it, and every answer is kept on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp, log, sqrt
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments.calibration.least_squares import Vector, fit, held_out
from experiments.calibration.parameters import Range, overrides, ranges
from experiments.validation import store
from experiments.validation.measurements import Measurement
from experiments.validation.replays import answer
from experiments.validation.request import Request
from experiments.validation.run import Asked, ask, card_at
from experiments.validation.units import convert
from experiments.workers import default_workers
from hwmodels import Gpu
from hwmodels.errors import InputError

Report = Callable[[str, float], None]
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """What a fit has done to one parameter."""

    key: str
    unit: str
    before: float
    after: int
    low: float
    high: float
    sensitivity: float
    """Change of the rows that react, in percent for one percent of the parameter (root of mean square)."""
    rows: int
    """Rows that react to it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The whole answer."""

    card: str
    rows: int
    parameters: tuple[Moved, ...]
    mean_before_pct: float
    mean_after_pct: float
    mean_held_out_pct: float
    folds: int

    def document(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "card": self.card,
            "rows": self.rows,
            "mean_abs_error_before_pct": self.mean_before_pct,
            "mean_abs_error_after_pct": self.mean_after_pct,
            "mean_abs_error_held_out_pct": self.mean_held_out_pct,
            "folds": self.folds,
            "parameters": [
                {name: getattr(one, name) for name in Moved.__dataclass_fields__} for one in self.parameters
            ],
        }


def calibrate(
    card: str,
    rows: Sequence[Measurement],
    names: tuple[str, ...] = (),
    *,
    folds: int = FOLDS,
    processes: int | None = None,
    report: Report | None = None,
) -> Calibration:
    """Fit the parameters of a card to the rows that are of it."""
    gpu = Gpu.from_card(card)
    chosen = ranges(gpu, names)
    movable = {replay for one in chosen for replay in one.parameter.replays}
    asked = [
        one for one in ask(rows, [card]) if isinstance(one.wanted, Request) and one.wanted.replay in movable
    ]
    if not asked:
        raise InputError(card, "no row of this card moves a parameter", "rows such as lat.l2_hit or bw.dram")
    evaluate = Evaluation(asked, chosen, processes or default_workers(len(asked)), report)
    start, low, high = ([getattr(one, name) for one in chosen] for name in ("value", "low", "high"))
    made = fit(evaluate, start, low, high)
    families = [_family(one) for one in asked]
    left_out = held_out(made.jacobian, made.after, families, folds)
    weights = evaluate.weights
    return Calibration(
        card=card,
        rows=len(asked),
        parameters=tuple(
            _moved(one, at, made.values, made.jacobian / weights[:, None]) for at, one in enumerate(chosen)
        ),
        mean_before_pct=_mean(made.before / weights),
        mean_after_pct=_mean(made.after / weights),
        mean_held_out_pct=_mean(left_out / weights),
        folds=min(folds, len(set(families))),
    )


class Evaluation:
    """Residuals of the rows under values of the parameters."""

    def __init__(
        self, asked: Sequence[Asked], chosen: Sequence[Range], processes: int, report: Report | None
    ) -> None:
        self.asked, self.chosen, self.processes, self.report = asked, chosen, processes, report
        count = Counter(map(_family, asked))
        self.weights = np.array([1 / sqrt(count[_family(one)]) for one in asked])
        self.start = [one.value for one in chosen]
        self.calls = 0

    def __call__(self, values: Vector) -> Vector:
        """Weighted logarithms of ours over theirs."""
        changed = overrides([one.key for one in self.chosen], list(values))
        jobs = [(one.card, one.clock_mhz, self._own(one, changed), one.wanted) for one in self.asked]
        answers = answers_of(jobs, self.processes)
        self.calls += 1
        if self.report is not None:
            self.report(f"{self.calls} sets of values", self.calls / (self.calls + 2 * len(self.chosen)))
        residuals = np.array(list(map(_residual, self.asked, answers)), dtype=np.float64)
        return np.asarray(self.weights * residuals, dtype=np.float64)

    def _own(self, one: Asked, changed: dict[str, int]) -> tuple[tuple[str, int], ...]:
        """The parameters that can move a row and differ from the card's own."""
        assert isinstance(one.wanted, Request)
        return tuple(
            (item.key, changed[item.key])
            for item in self.chosen
            if one.wanted.replay in item.parameter.replays and changed[item.key] != item.value
        )


Job = tuple[str, int, tuple[tuple[str, int], ...], Any]


def answers_of(jobs: Sequence[Job], processes: int) -> list[float]:
    """The answer of each job, each replayed once."""
    unique = list(dict.fromkeys(jobs))
    missing = [job for job in unique if _kept(job) is None]
    if processes > 1 and len(missing) > processes:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            list(pool.map(_replay, missing))
    found = {job: _replay(job) for job in unique}
    return [found[job] for job in jobs]


def _card(job: Job) -> Gpu:
    gpu = card_at(job[0], job[1])
    return gpu.with_overrides(dict(job[2])) if job[2] else gpu


def _kept(job: Job) -> float | None:
    return store.kept(job[3], _card(job))


def _replay(job: Job) -> float:
    gpu = _card(job)
    known = store.kept(job[3], gpu)
    if known is None:
        known = answer(job[3], gpu)
        store.keep(job[3], gpu, known)
    return known


def _residual(one: Asked, value: float) -> float:
    assert isinstance(one.wanted, Request)
    assert one.row.value is not None
    gpu = card_at(one.card, one.clock_mhz)
    return log(convert(one.wanted.kind, value, one.row.unit, gpu, one.row.place) / one.row.value)


def _family(one: Asked) -> str:
    assert isinstance(one.wanted, Request)
    return f"{one.wanted.family} {one.wanted.method}"


def _mean(residuals: Vector) -> float:
    return float(np.mean([100 * abs(exp(one) - 1) for one in residuals]))


def _moved(one: Range, at: int, values: Vector, jacobian: Vector) -> Moved:
    column = jacobian[:, at]
    reacting = column[np.abs(column) > 1e-3]
    size = float(np.sqrt(np.mean(reacting**2))) if len(reacting) else 0.0
    return Moved(one.key, one.unit, one.value, round(values[at]), one.low, one.high, size, len(reacting))

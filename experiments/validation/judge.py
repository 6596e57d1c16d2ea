"""Judges rows: ours against theirs, groups of rows by their median, rows that contradict their group, and
what all of them amount to.

A group is one die, one quantity and one method. Boards of a die differ in clock, so what is compared inside
a group is theirs over ours, whose median is the group's; a row that is further from it than a bound
contradicts the others, whoever is right, and is listed instead of counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from experiments.validation.measurements import Measurement
from experiments.validation.request import Refusal

COVERED, NOT_COVERED, CONTRADICTS = "covered", "not covered", "contradicts its group"
BY_SIGN = "compared by its sign"
"""It counts beside another row only (`relations.py`)."""
CONTRADICTION = 0.15
LEAST_ROWS = 3
"""Two that differ do not say which is wrong."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A row with our number in its unit, or with the reason why there is none."""

    row: Measurement
    card: str
    group: tuple[str, ...]
    ours: float | None
    status: str
    why: str = ""

    @property
    def error_pct(self) -> float | None:
        """Ours less theirs, in percent of theirs."""
        if self.ours is None or self.row.value is None:
            return None
        return 100 * (self.ours - self.row.value) / self.row.value

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON and tables."""
        return {
            "gpu": self.row.gpu,
            "card": self.card,
            "quantity": self.row.quantity,
            "unit": self.row.unit,
            "theirs": self.row.value,
            "ours": self.ours,
            "error_pct": self.error_pct,
            "status": self.status,
            "why": self.why,
            "conditions": self.row.conditions,
            "confidence": self.row.confidence,
            "group": " / ".join(self.group),
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one die, quantity and method that agree."""

    name: tuple[str, ...]
    rows: int
    error_pct: float

    @property
    def kind(self) -> str:
        """What is compared: "latency", "bandwidth", "throughput", "kernel" or "time"."""
        return self.name[0]


def refused(row: Measurement, card: str, refusal: Refusal) -> Judged:
    """A row without a replay."""
    return Judged(row, card, (), None, NOT_COVERED, str(refusal))


def against_groups(judged: Sequence[Judged]) -> list[Judged]:
    """The same rows, with those marked that contradict their group."""
    found = list(judged)
    for places in _places(judged).values():
        ratios = {place: _ratio(judged[place]) for place in places}
        middle = median(ratios.values())
        if len(places) < LEAST_ROWS:
            continue
        for place, ratio in ratios.items():
            if abs(ratio / middle - 1) > CONTRADICTION:
                others = f"{100 * (ratio / middle - 1):+.0f} % from the median of {len(places)} rows"
                found[place] = replace(judged[place], status=CONTRADICTS, why=others)
    return found


def groups(judged: Sequence[Judged]) -> list[Group]:
    """The groups of the rows that count, in order of first appearance."""
    made = []
    for name, places in _places(judged).items():
        middle = median(_ratio(judged[place]) for place in places)
        made.append(Group(name, len(places), 100 * (1 / middle - 1)))
    return made


def _places(judged: Sequence[Judged]) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for place, one in enumerate(judged):
        if one.status == COVERED:
            found.setdefault(one.group, []).append(place)
    return found


def _ratio(one: Judged) -> float:
    assert one.ours is not None
    assert one.row.value is not None
    return one.row.value / one.ours


@dataclass(frozen=True, slots=True)
class Errors:
    """What a list of absolute errors amounts to, in percent; all None for an empty one."""

    count: int
    mean: float | None
    median: float | None
    ninetieth: float | None
    worst: float | None


def errors_of(percents: Iterable[float]) -> Errors:
    """Mean, median, 90th percentile (the smallest error that 90 % do not exceed), worst."""
    ordered = sorted(map(abs, percents))
    if not ordered:
        return Errors(0, None, None, None, None)
    ninetieth = ordered[-(-9 * len(ordered) // 10) - 1]
    return Errors(len(ordered), mean(ordered), median(ordered), ninetieth, ordered[-1])


def document(judged: Sequence[Judged]) -> dict[str, Any]:
    """Everything as plain values."""
    counted = [one for one in judged if one.status == COVERED]
    total = errors_of(one.error_pct or 0.0 for one in counted)
    worst = max(counted, key=lambda one: abs(one.error_pct or 0.0), default=None)
    return {
        "rows": [one.document() for one in judged],
        "covered": len(counted),
        "not_covered": sum(one.status == NOT_COVERED for one in judged),
        "contradicting": sum(one.status == CONTRADICTS for one in judged),
        "by_sign": sum(one.status == BY_SIGN for one in judged),
        "mean_abs_error_pct": total.mean,
        "median_abs_error_pct": total.median,
        "p90_abs_error_pct": total.ninetieth,
        "worst": worst.document() if worst else None,
        "kinds": summary(judged),
    }


def summary(judged: Sequence[Judged]) -> dict[str, dict[str, Any]]:
    """Errors of groups by kind of quantity."""
    made: dict[str, dict[str, Any]] = {}
    all_groups = groups(judged)
    for kind in dict.fromkeys(one.kind for one in all_groups):
        chosen = [one for one in all_groups if one.kind == kind]
        errors = errors_of(one.error_pct for one in chosen)
        made[kind] = {
            "groups": errors.count,
            "mean_abs_error_pct": errors.mean,
            "median_abs_error_pct": errors.median,
            "p90_abs_error_pct": errors.ninetieth,
            "worst_abs_error_pct": errors.worst,
            "worst_group": " / ".join(max(chosen, key=lambda one: abs(one.error_pct)).name),
        }
    return made

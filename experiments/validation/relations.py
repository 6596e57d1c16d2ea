"""Rows that belong together: the same work fused and apart, the same kernel with and without a cap on its
registers. What is compared is theirs beside ours of the ratio, or of the sign of the difference.

How much a compiler spilled under a cap is not published, so a capped pair's time is no comparison of its own
where the spills are ours; whether the cap helps is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from experiments.validation.hfuse_shapes import CAPPED, DEFAULT
from experiments.validation.judge import NOT_COVERED, Judged

FUSED, CAP = "fused over unfused", "register cap"
FAMILY = re.compile(r"(\w+) ([\dx]+(?: \w+)?)(, one by one|, speed-up)?")
FORMS = ("_eager", "_half", "_fused", "_twice", "then_", "liger_")
"""Parts of a graph's name that say how it is computed, not what."""
FRAMEWORKS_OWN = "_twice"
"""A framework's one kernel, beside which a library sets its own."""
NO_EFFECT = 0.02
"""Less than this is none: so much the same kernel varies from one measurement to the next."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Two rows of a card: the second over the first, theirs and ours."""

    kind: str
    card: str
    name: str
    theirs: float
    ours: float

    @property
    def error_pct(self) -> float:
        """Ours less theirs, in percent of theirs."""
        return 100 * (self.ours / self.theirs - 1)

    @property
    def same_sign(self) -> bool:
        """Whether both say faster, both slower, or both neither."""
        return _sign(self.ours) == _sign(self.theirs)


def _sign(ratio: float) -> int:
    return 0 if abs(ratio - 1) < NO_EFFECT else 1 if ratio > 1 else -1


def relations(judged: Sequence[Judged]) -> list[Relation]:
    """All pairs of which both rows have a number of ours."""
    known = [one for one in judged if one.ours is not None and one.status != NOT_COVERED and one.row.value]
    return [*_fused(known), *_capped(known)]


def _fused(judged: Sequence[Judged]) -> list[Relation]:
    together: dict[tuple[str, str, str], list[Judged]] = {}
    apart: dict[tuple[str, str, str], list[Judged]] = {}
    made = []
    for one in judged:
        found = FAMILY.fullmatch(one.group[2]) if one.group[0] == "kernel" else None
        if found is None:
            continue
        graph, sizes, how = found.groups()
        name = graph
        for form in FORMS:
            name = name.replace(form, "")
        if how == ", speed-up":
            made.append(Relation(FUSED, one.card, f"{name} {sizes}", 1 / _theirs(one), 1 / _ours(one)))
            continue
        side = apart if how or FRAMEWORKS_OWN in graph else together
        side.setdefault((one.card, name, sizes), []).append(one)
    for key, fused in together.items():
        for unfused in apart.get(key, []):
            card, name, sizes = key
            made.append(_ratio(FUSED, card, f"{name} {sizes}", unfused, fused[0]))
    return made


def _capped(judged: Sequence[Judged]) -> list[Relation]:
    by_name = {(one.card, one.row.quantity): one for one in judged}
    made = []
    for (card, quantity), one in by_name.items():
        other = by_name.get((card, quantity.replace(DEFAULT, CAPPED)))
        if quantity.endswith(DEFAULT) and other is not None:
            made.append(_ratio(CAP, card, quantity.split(".")[2], one, other))
    return made


def _ratio(kind: str, card: str, name: str, first: Judged, second: Judged) -> Relation:
    # Of rates the smaller is the slower.
    theirs, ours = _theirs(second) / _theirs(first), _ours(second) / _ours(first)
    if first.row.unit.endswith("B/s"):
        theirs, ours = 1 / theirs, 1 / ours
    return Relation(kind, card, name, theirs, ours)


def _theirs(one: Judged) -> float:
    assert one.row.value is not None
    return one.row.value


def _ours(one: Judged) -> float:
    assert one.ours is not None
    return one.ours


def summary(found: Sequence[Relation]) -> dict[str, Any]:
    """Pairs, mean and worst error of the ratio, and how many signs agree, by kind."""
    made: dict[str, Any] = {}
    for kind in dict.fromkeys(one.kind for one in found):
        chosen = [one for one in found if one.kind == kind]
        worst = max(chosen, key=lambda one: abs(one.error_pct))
        made[kind] = {
            "pairs": len(chosen),
            "mean_abs_error_pct": mean(abs(one.error_pct) for one in chosen),
            "worst_error_pct": worst.error_pct,
            "worst_pair": f"{worst.card}: {worst.name}",
            "same_sign": sum(one.same_sign for one in chosen),
        }
    return made

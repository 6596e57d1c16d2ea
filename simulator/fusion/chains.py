"""Exact planning of a chain: the cheapest way to cut a row of operators into intervals, by dynamic
programming over where the last interval begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simulator.fusion.problem import Candidate, Problem, bits
from simulator.fusion.search import Outcome

Interval = tuple[int, int]
"""First operator, and the one behind the last."""


def cheapest_cuts(count: int, costs: Mapping[Interval, int]) -> tuple[int, list[Interval]]:
    """(cost, intervals from left to right) of the cheapest cut of `count` operators into intervals."""
    best: list[tuple[int, int] | None] = [(0, 0)] + [None] * count
    for end in range(1, count + 1):
        for begin in range(end):
            before, cost = best[begin], costs.get((begin, end))
            if before is None or cost is None:
                continue
            total, known = before[0] + cost, best[end]
            if known is None or total < known[0]:
                best[end] = (total, begin)
    last = best[count]
    if last is None:
        raise ValueError("no cut into these intervals reaches the end")
    cuts: list[Interval] = []
    end = count
    while end:
        found = best[end]
        assert found is not None, "an interval on the way ends where another begins"
        cuts.append((found[1], end))
        end = found[1]
    return last[0], cuts[::-1]


def as_chain(problem: Problem) -> dict[Interval, Candidate] | None:
    """The candidates by interval, where the operators are a chain and nothing may be copied."""
    if problem.copied:
        return None
    for operator, readers in enumerate(problem.readers):
        if readers & ~(1 << operator + 1):
            return None
    found: dict[Interval, Candidate] = {}
    for one in problem.candidates:
        members = list(bits(one.members))
        if members[-1] - members[0] + 1 != len(members):
            return None
        place = (members[0], members[-1] + 1)
        if place not in found or one.cost < found[place].cost:
            found[place] = one
    return found


def plan_chain(problem: Problem) -> Outcome | None:
    """The cheapest choice on a chain; None where the problem is none."""
    intervals = as_chain(problem)
    if intervals is None:
        return None
    costs: dict[Interval, int] = {place: one.cost for place, one in intervals.items()}
    total, cuts = cheapest_cuts(problem.count, costs)
    chosen: Sequence[Candidate] = [intervals[place] for place in cuts]
    return Outcome(tuple(chosen), total, total, len(costs))

"""Figures that compare two rows of one run of the bench, the only fair way on a computer that others use too.

Engine against engine on one trace; one engine and trace on more SMs; an instruction in a larger problem of
the same kind (1 means that time grows with work); and how many times sooner several threads are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from experiments.bench.cases import GROWTH
from experiments.bench.measure import Measurement


def ratios(rows: Sequence[Measurement]) -> dict[str, float]:
    """Every ratio for which both rows are there."""
    alone = [one for one in rows if one.threads == 1]
    return {**_engines(alone), **_machine_sizes(alone), **_problem_sizes(alone), **_threads(rows)}


def _threads(rows: Sequence[Measurement]) -> dict[str, float]:
    return {
        f"{many.threads} threads / 1: wall time of {many.trace}, {many.sm_count} SMs": one.wall_seconds
        / many.wall_seconds
        for many in rows
        for one in rows
        if many.threads > 1
        and one.threads == 1
        and (many.trace, many.sm_count, many.engine) == (one.trace, one.sm_count, one.engine)
    }


def _engines(rows: Sequence[Measurement]) -> dict[str, float]:
    found = {}
    for slow in rows:
        for fast in rows:
            same = (slow.trace, slow.sm_count) == (fast.trace, fast.sm_count)
            if same and (slow.engine, fast.engine) == ("reference", "compiled"):
                found[f"compiled / reference: kips of {slow.trace}, {slow.sm_count} SMs"] = (
                    fast.kips / slow.kips
                )
    return found


def _machine_sizes(rows: Sequence[Measurement]) -> dict[str, float]:
    found = {}
    for engine, trace in dict.fromkeys((one.engine, one.trace) for one in rows):
        same = sorted(
            (one for one in rows if (one.engine, one.trace) == (engine, trace)), key=lambda one: one.sm_count
        )
        for small, large in pairwise(same):
            name = f"{large.sm_count} / {small.sm_count} SMs: kips of {trace}, {engine}"
            found[name] = large.kips / small.kips
    return found


def _problem_sizes(rows: Sequence[Measurement]) -> dict[str, float]:
    whole = max((one.sm_count for one in rows), default=0)
    found = {(one.engine, one.trace): one for one in rows if one.sm_count == whole}
    return {
        f"{large} / {small}: time an instruction, {engine}": found[engine, small].kips
        / found[engine, large].kips
        for small, large in GROWTH
        for engine in dict.fromkeys(one.engine for one in rows)
        if (engine, small) in found and (engine, large) in found
    }

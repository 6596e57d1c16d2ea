"""One run of the bench: every case on every engine that is there, the starts, and what compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from experiments.bench import cases
from experiments.bench.cases import Case
from experiments.bench.measure import Job, Measurement, measure
from experiments.bench.ratios import ratios
from experiments.bench.start import Start, measure_starts
from hwmodels.errors import unknown

QUICK_SECONDS = 8.0
"""Limit of each replay with `--quick`: the reference engine gets through about a third of its cases in it."""
REPEATS = {"reference": 1, "compiled": 3}

Report = Callable[[str, float | None], None]


@dataclass(slots=True)
class Bench:
    """Everything that one run found."""

    results: list[Measurement] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Sentences on what was not measured, and why."""

    @property
    def ratios(self) -> dict[str, float]:
        """What compares two rows."""
        return ratios(self.results)


def chosen(names: Sequence[str], *, quick: bool) -> list[Case]:
    """The cases to measure: those named, or all of a quick or a full run."""
    known = dict.fromkeys(case.name for case in cases.CASES)
    for name in names:
        if name not in known:
            raise unknown("--case", "case", name, known)
    return [case for case in cases.CASES if (case.quick or not quick) and (not names or case.name in names)]


def run_bench(names: Sequence[str], *, quick: bool, report: Report) -> Bench:
    """Measure. `report` gets (words, share of the work done)."""
    from simulator.machine.replay import ENGINES

    bench = Bench()
    jobs, missing = [], {}
    for case in chosen(names, quick=quick):
        for engine in case.engines:
            if engine in ENGINES:
                limit = QUICK_SECONDS if quick else None
                jobs.append(Job(case, engine, 1 if quick else REPEATS[engine], limit))
            else:
                missing.setdefault(engine, []).append(_title(case))
    for engine, titles in missing.items():
        bench.left_out.append(f"There is no {engine} engine in this version; left out: {', '.join(titles)}.")
    for place, job in enumerate(jobs):
        title = f"{_title(job.case)} on the {job.engine} engine"

        def watch(share: float, cycle: int, place: int = place, title: str = title) -> None:
            report(f"{title}, SM cycle {cycle:,}", (place + share) / (len(jobs) + 1))

        watch(0.0, 0)
        bench.results.append(measure(job, watch))
    for engine in dict.fromkeys(job.engine for job in jobs):
        report(f"start of the {engine} engine", len(jobs) / (len(jobs) + 1))
        bench.starts += measure_starts(engine, cold=not quick and engine == "compiled")
    return bench


def _title(case: Case) -> str:
    title = case.name if case.scale == "1/1" else f"{case.name} at {case.scale}"
    return title if case.threads == 1 else f"{title} with {case.threads} threads"

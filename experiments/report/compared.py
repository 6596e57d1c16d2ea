"""Data of the third demonstration: strategies that the comparison of vertical with horizontal fusion needs
and the folder lacks.

A strategy that gives the kernels of one that was replayed has that one's result. Others are replayed as the
config says, if the page's time is enough for it; if not, all strategies are replayed on one part of the card
with that part of the batch, so that what stands side by side was replayed on the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.report.chain import REFERENCE_INSTRUCTIONS
from experiments.report.motion import motion
from experiments.report.share import Share, fits, shares
from hwmodels.errors import InputError, ResultError
from simulator.trace.tally import tally

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.statistics.result import Result
    from simulator.trace.schema import KernelTrace
    from simulator.workload.graph import Graph

COMPARED = ("none", "vertical", "horizontal", "vertical-then-horizontal")
"""Strategies that the page sets side by side where this version has them."""
Kernels = dict[str, "tuple[KernelTrace, ...]"]
Report = Callable[[float, int], None]


def compared(
    config: Config,
    parts: Sequence[Graph],
    gpu: Gpu,
    results: Sequence[Result],
    seconds: float,
    report: Report | None = None,
) -> dict[str, Any]:
    """Motions by strategy; `share`: what they were replayed on where it is not the whole, and then all of
    them were; `left_out`: strategies for which the time was too short.
    """
    there = {one.variant: one for one in results if one.card.name == gpu.name and not one.partial}
    known = _kernels(config, gpu, (*there, *COMPARED))
    wanted = [name for name in COMPARED if name in known]
    missing = [name for name in wanted if name not in there and _same(known, name, there) is None]
    until = time.monotonic() + seconds
    share, kernels, work = _choice(Share(config, gpu, tuple(parts)), known, missing, wanted, seconds)
    recorded = {} if share.words else {name: motion(one) for name, one in there.items()}
    made = recorded | _replayed(share, work, until, report)
    motions = []
    for name in wanted:
        source = name if name in made else _same(kernels, name, made)
        if source is not None and name not in recorded:
            motions.append({**made[source], "variant": name})
    shown = {*recorded, *(one["variant"] for one in motions)}
    return {
        "motions": motions,
        "share": share.words,
        "left_out": [name for name in wanted if name not in shown],
    }


def _choice(
    whole: Share, known: Kernels, missing: Sequence[str], wanted: Sequence[str], seconds: float
) -> tuple[Share, Kernels, dict[str, int]]:
    """The largest share on which the time is enough for what it needs: on the whole card what is missing, on
    a slice everything. With its kernels and the warp instructions of each strategy to replay; where even the
    smallest is too long, the whole and nothing to replay.
    """
    for share in shares(whole.config, whole.parts, whole.gpu):
        kernels = _kernels(share.config, share.gpu, wanted) if share.words else known
        needed = [one for one in (wanted if share.words else missing) if one in kernels]
        work = {
            name: _work(kernels[name])
            for at, name in enumerate(needed)
            if _same(kernels, name, needed[:at]) is None
        }
        # Half of the time: on a busy machine the other half is needed, on an idle one the windows get it.
        if fits(sum(work.values()), seconds / 2):
            return share, kernels, work
    return whole, known, {}


def _same(kernels: Kernels, name: str, among: Iterable[str]) -> str | None:
    """Another strategy that gives the same kernels; None where none does."""
    return next((one for one in among if one != name and kernels.get(one) == kernels[name]), None)


def _work(kernels: Sequence[KernelTrace]) -> int:
    """Warp instructions."""
    return sum(int(sum(tally(one))) for one in kernels)


def _kernels(config: Config, gpu: Gpu, names: Sequence[str]) -> Kernels:
    """The kernels of each strategy; one that this version or this graph lacks is left out."""
    from experiments.workload import make_variant

    found = {}
    for name in dict.fromkeys(names):
        try:
            found[name] = make_variant(config, name, gpu).kernels
        except (InputError, ResultError):
            continue
    return found


def _replayed(
    share: Share, work: dict[str, int], until: float, report: Report | None
) -> dict[str, dict[str, Any]]:
    """A motion of each strategy that the time was enough for; `work` has their warp instructions."""
    from experiments.run import Limits, replay_variant

    made: dict[str, dict[str, Any]] = {}
    total, done = max(1, sum(work.values())), 0
    for name, instructions in work.items():
        left = until - time.monotonic()
        if left <= 0:
            break
        engine = "reference" if instructions <= REFERENCE_INSTRUCTIONS else "compiled"
        config = replace(share.config, values={**share.config.values, "engine": engine})
        try:
            result = replay_variant(config, share.gpu, name, Limits(seconds=left))
        except (InputError, ResultError):
            continue
        if not result.partial:
            made[name] = motion(result)
        done += instructions
        if report is not None:
            report(done / total, 0)
    return made

"""Data of the second demonstration: every window of the longest fusible chain, replayed inside its chain.

A window is an interval of the chain that becomes one kernel; the operators beside it stay kernels of their
own, and the whole chain is replayed, so that L2 between kernels and launch gaps are in the cycles.
Registers and spills are those of the emitted programs under a few caps (launch bounds), the last of which
makes long windows spill. Where the whole takes longer than the page may, all positions are replayed on one
part of the card with that part of the batch; what even so is not reached is left out and counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from experiments.report.chain import Chain, chain_of, recorded
from experiments.report.share import Share, fits, shares
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.statistics.result import Result
    from simulator.workload.graph import Graph

TRIED_SECONDS = 5.0
"""After so long the rate of the runs themselves decides whether a smaller part is needed."""
Report = Callable[[float, int], None]


def windows(
    config: Config,
    parts: Sequence[Graph],
    gpu: Gpu,
    seconds: float,
    results: Sequence[Result] = (),
    report: Report | None = None,
) -> dict[str, Any] | None:
    """The document, or None where the graph has no chain of two operators."""
    until = time.monotonic() + seconds
    options = [one for one in shares(config, parts, gpu) if chain_of(one.parts) is not None]
    for at, share in enumerate(options):
        last = at + 1 == len(options)
        one = Windows(share)
        if not fits(one.work, seconds) and not last:
            continue
        rows = one.replayed(until, report, may_give_up=not last)
        if rows is not None:
            return one.document(rows, gpu, results)
    return None


class Windows:
    """All positions of a window on one share of the card, and what replaying them takes."""

    def __init__(self, share: Share) -> None:
        found = chain_of(share.parts)
        if found is None:
            raise InputError("report", "the graph has no chain of two operators", "report another graph")
        self.share, self.chain = share, Chain(*found, share.gpu)
        self.caps = self.chain.caps(share.config["registers.cap"])
        length = len(self.chain.operators)
        places = [(first, size) for size in range(1, length + 1) for first in range(length - size + 1)]
        # A window of one is the chain without fusion wherever it stands. Windows that begin with the chain
        # come first: what a short time reaches is then a growing window.
        wanted = sorted(
            ((cap, *place) for cap in self.caps for place in places if place[1] > 1 or not place[0]),
            key=lambda one: one[1],
        )
        self.positions = [self.chain.position(*one) for one in wanted]
        self.left_out = len(self.positions)
        self.work = sum(one.work for one in self.positions)

    def replayed(
        self, until: float, report: Report | None, *, may_give_up: bool
    ) -> list[dict[str, Any]] | None:
        """A row a position until the time is over; None as soon as it will not do and there is less to do."""
        began, done = time.monotonic(), 0
        rows: list[dict[str, Any]] = []
        self.left_out = len(self.positions)
        for one in self.positions:
            now = time.monotonic()
            if now > until:
                break
            passed = now - began
            if may_give_up and passed > TRIED_SECONDS and passed * self.work > done * (until - began):
                return None
            rows += self.chain.rows(self.share.config, one)
            self.left_out -= 1
            done += one.work
            if report is not None:
                report(done / max(1, self.work), 0)
        return rows

    def document(self, rows: list[dict[str, Any]], whole: Gpu, results: Sequence[Result]) -> dict[str, Any]:
        """What the page and its picture show."""
        names = [one.name for one in self.chain.operators]
        return {
            "gpu": whole.name,
            "share": self.share.words,
            "operators": [{"name": one.name, "kind": one.kind} for one in self.chain.operators],
            "caps": self.caps,
            "windows": rows,
            "left_out": self.left_out,
            "registers_max": whole.register_file.max_per_thread,
            "marks": {str(cap): marks_of([row for row in rows if row["cap"] == cap]) for cap in self.caps},
            "recorded": recorded(results, whole.name, names),
        }


def marks_of(rows: Sequence[dict[str, Any]]) -> dict[str, int | None]:
    """Sizes of the window from the chain's first operator where spilling begins, and where growing begins to
    lose: the first size above the fastest one.
    """
    growing = sorted(
        (row for row in rows if not row["first"] and "cycles" in row), key=lambda row: row["size"]
    )
    spilling = [row["size"] for row in growing if row["spill_bytes_per_thread"]]
    if not growing:
        return {"spills_from": None, "loses_from": None}
    best = min(growing, key=lambda row: (row["cycles"], row["size"]))
    losing = [row["size"] for row in growing if row["size"] > best["size"]]
    return {"spills_from": spilling[0] if spilling else None, "loses_from": losing[0] if losing else None}

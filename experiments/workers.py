"""Replays side by side in local processes, each made from the config alone, with one view of their
progress.

A replay uses one core, and variants share nothing, so they run in as many processes as there are cores. A
worker builds its own card and kernels (traces hold compiled closures that can't travel) and sends back a
Result. What a worker raises is raised here; an interruption stops all of them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from hwmodels.errors import ResultError

if TYPE_CHECKING:
    from simulator.statistics.result import Result

POLL_SECONDS = 0.2

Replayer = Callable[[Any, Callable[[float, int], None]], "Result | None"]
"""Replays one job; the second argument is called with (share done, SM cycle)."""


@dataclass(slots=True)
class _Board:
    """What workers and parent share: a share done and a cycle for each job, and the wish to stop."""

    shares: Any
    cycles: Any
    stop: Any


_board: list[_Board] = []
"""A worker's own board, put there when its process starts."""


def default_workers(jobs: int) -> int:
    """One process a job, and no more than there are cores to use."""
    return max(
        1,
        min(jobs, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1),
    )


def run_all(
    replayer: Replayer, jobs: Sequence[Any], workers: int, report: Callable[[float, int], None] | None = None
) -> list[Result | None]:
    """The results in the order of the jobs. `report` gets (share of all jobs, sum of their SM cycles)."""
    context = get_context("spawn")
    board = _Board(context.Array("d", len(jobs)), context.Array("q", len(jobs)), context.Event())
    with ProcessPoolExecutor(workers, context, _begin, (board.shares, board.cycles, board.stop)) as pool:
        futures = [pool.submit(_work, replayer, place, job) for place, job in enumerate(jobs)]
        try:
            _watch(futures, board, report)
            return [future.result() for future in futures]
        except BrokenProcessPool:
            raise ResultError(
                "workers", "a worker process died, perhaps for lack of memory", "use --workers 1"
            ) from None
        finally:
            board.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _watch(
    futures: Sequence[Future[Any]], board: _Board, report: Callable[[float, int], None] | None
) -> None:
    """Wait until all are done or one has failed."""
    while True:
        done, left = wait(futures, POLL_SECONDS, FIRST_EXCEPTION)
        if report is not None:
            report(sum(board.shares) / len(futures), sum(board.cycles))
        if not left or any(future.exception() for future in done):
            return


def _begin(shares: Any, cycles: Any, stop: Any) -> None:
    # The terminal's interruption reaches every process; only the parent answers it, and tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _board.append(_Board(shares, cycles, stop))


def _work(replayer: Replayer, place: int, job: Any) -> Result | None:
    board = _board[0]

    def progress(share: float, cycle: int) -> None:
        board.shares[place], board.cycles[place] = share, cycle
        if board.stop.is_set():
            raise KeyboardInterrupt

    result = replayer(job, progress)
    board.shares[place] = 1.0
    return result

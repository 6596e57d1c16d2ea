"""Replays side by side in local processes, each made from the config alone, with one view of their
progress.

A replay uses one core, and variants share nothing, so they run in as many processes as there are cores. A
worker builds its own card and kernels (traces hold compiled closures that can't travel) and sends back a
Result. What a worker raises is raised here; an interruption stops all of them.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from hwmodels.errors import ResultError
from simulator.machine.wish import Wish
from simulator.processors import processors

if TYPE_CHECKING:
    from simulator.statistics.result import Result

POLL_SECONDS = 0.2


class Line:
    """What a replay tells while it runs, and what it hears."""

    def __init__(
        self,
        tell: Callable[[float, int], None],
        must_stop: Callable[[], bool],
        asked_writes: Callable[[], int],
        wrote: Callable[[int], None],
    ) -> None:
        self._tell, self._must_stop, self._asked, self._wrote = tell, must_stop, asked_writes, wrote
        self._answered = 0
        self.stops_itself = False
        """Whether the replay hears a stop by `wish`, to write its checkpoint first."""

    def __call__(self, share: float, cycle: int) -> None:
        """Tell (share done, SM cycle); a KeyboardInterrupt when the command has been told to stop."""
        self._tell(share, cycle)
        if self._must_stop() and not self.stops_itself:
            raise KeyboardInterrupt

    def wish(self) -> Wish:
        """What a checkpoint's keeper asks: whether to write, and whether to stop."""
        self._wrote(self._answered)  # the look-up before this one has written what was asked then
        if self._must_stop():
            return Wish.WRITE_AND_STOP
        asked = self._asked()
        if asked > self._answered:
            self._answered = asked
            return Wish.WRITE
        return Wish.GO_ON


Replayer = Callable[[Any, Line], "Result | None"]
"""Replays one job; the second argument is called with (share done, SM cycle)."""


@dataclass(slots=True)
class _Board:
    """What workers and parent share: a share done and a cycle for each job, the wish to stop, and how often
    a checkpoint was asked for and written.
    """

    shares: Any
    cycles: Any
    stop: Any
    asked: Any
    written: Any


@dataclass(frozen=True, slots=True)
class Hearing:
    """What the command is told from outside while its replays run."""

    must_stop: Callable[[], bool]
    writes: Callable[[], int]
    """How often a checkpoint has been asked for."""
    wrote: Callable[[], object]
    """Called when replays have written what was asked for."""


_board: list[_Board] = []
"""A worker's own board, put there when its process starts."""


def default_workers(jobs: int) -> int:
    """One process a job, and no more than there are cores to use."""
    return max(1, min(jobs, processors()))


def run_all(
    replayer: Replayer,
    jobs: Sequence[Any],
    workers: int,
    report: Callable[[float, int], None] | None = None,
    hearing: Hearing | None = None,
) -> list[Result | None]:
    """The results in the order of the jobs. `report` gets (share of all jobs, sum of their SM cycles)."""
    context = get_context("spawn")
    size = len(jobs)
    board = _Board(
        context.Array("d", size),
        context.Array("q", size),
        context.Event(),
        context.Value("q", 0),
        context.Array("q", size),
    )
    with ProcessPoolExecutor(workers, context, _begin, (board,)) as pool:
        futures = [pool.submit(_work, replayer, place, job) for place, job in enumerate(jobs)]
        try:
            _watch(futures, board, report, hearing)
            return [future.result() for future in futures]
        except BrokenProcessPool:
            raise ResultError(
                "workers", "a worker process died, perhaps for lack of memory", "use --workers 1"
            ) from None
        finally:
            board.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _watch(
    futures: Sequence[Future[Any]],
    board: _Board,
    report: Callable[[float, int], None] | None,
    hearing: Hearing | None,
) -> None:
    """Wait until all are done or one has failed; pass on what the command is told meanwhile."""
    written: list[int] = []
    while True:
        done, left = wait(futures, POLL_SECONDS, FIRST_EXCEPTION)
        if report is not None:
            report(sum(board.shares) / len(futures), sum(board.cycles))
        if hearing is not None:
            board.asked.value = hearing.writes()
            if written != (written := list(board.written)) and any(written):
                hearing.wrote()
            if hearing.must_stop():
                board.stop.set()
        if not left or any(future.exception() for future in done):
            return


def _begin(board: _Board) -> None:
    # A signal to the process group reaches every process; only the parent answers it, and tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: board.stop.set())
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    _board.append(board)


def _work(replayer: Replayer, place: int, job: Any) -> Result | None:
    board = _board[0]

    def tell(share: float, cycle: int) -> None:
        board.shares[place], board.cycles[place] = share, cycle

    def wrote(number: int) -> None:
        board.written[place] = number

    line = Line(tell, board.stop.is_set, lambda: int(board.asked.value), wrote)
    result = replayer(job, line)
    board.shares[place] = 1.0
    return result

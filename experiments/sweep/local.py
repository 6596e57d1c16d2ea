"""Worker processes of this machine, one job at a time each.

A worker that dies takes only its own job with it and is replaced. Workers end when their sweep does, also
when it was killed: each watches its parent. The terminal's interruption reaches every process; only the
parent answers it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from experiments.sweep.points import Job
from experiments.sweep.work import Finished, perform

END_SECONDS = 5.0


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Connection
    job: Job | None = None


class LocalCrew:
    """So many processes. They start when there is work for them."""

    def __init__(self, workers: int) -> None:
        self._most = workers
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.pipe.close()
            if worker.job is not None or kind is not None:
                worker.process.terminate()
        for worker in self._workers:
            _ended(worker.process)

    @property
    def room(self) -> int:
        """Workers without a job, those that have not started included."""
        return self._most - sum(worker.job is not None for worker in self._workers)

    def give(self, job: Job) -> None:
        """Hand a job to an idle worker, or start one."""
        worker = next((one for one in self._workers if one.job is None), None) or self._start()
        worker.job = job
        try:
            worker.pipe.send(job)
        except OSError:
            # It died while it was idle: `finished` finds its pipe closed.
            return

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has ended; waits so long for the first."""
        busy = {worker.pipe: worker for worker in self._workers if worker.job is not None}
        if not busy:
            return []
        return [self._take(busy[pipe]) for pipe in connection.wait(list(busy), timeout_s)]  # type: ignore[index]

    def _start(self) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interruptions_held():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _take(self, worker: _Worker) -> Finished:
        job = worker.job
        assert job is not None
        try:
            finished: Finished = worker.pipe.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            _ended(worker.process)
            code = worker.process.exitcode
            how = (
                f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
            )
            return Finished(job.key, lost=f"its worker process {how}, perhaps for lack of memory")
        worker.job = None
        return finished


def _ended(process: Any) -> None:
    process.join(END_SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()


def _serve(pipe: Connection) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        finished = perform(job)
        try:
            pipe.send(finished)
        except OSError:
            return


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interruptions_held() -> Iterator[None]:
    """A starting process must not meet the terminal's interruption before it has learnt to ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

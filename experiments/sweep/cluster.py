"""Workers of a Dask cluster, reached through its scheduler (`stallscope[cluster]`).

The scheduler gives a job of a lost worker to another; only where one job loses several workers is it reported
as lost. Cards travel with the jobs; models and traces are read where the worker runs, and must be the same
there.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from experiments.sweep.points import Job
from experiments.sweep.work import Finished, perform, warm_up
from hwmodels.errors import InputError, ResultError

CONNECT_SECONDS = 20
JOBS_A_THREAD = 2
"""Enough that no thread waits for its next job; all of these are done again when the sweep itself is killed.
"""


class ClusterCrew:
    """The workers that a scheduler has; more may come and go while the sweep runs."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = _connected(address)
        self._jobs: dict[Any, Job] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            self._client.close(timeout=5)
            raise InputError(
                f"--cluster {address}",
                f"the scheduler has had no worker for {CONNECT_SECONDS} s",
                "start some",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._jobs and self._client.status == "running":
            self._client.cancel(list(self._jobs), force=True)
        self._client.close(timeout=5)

    @property
    def workers(self) -> dict[str, int]:
        """Threads of each worker by its address."""
        self._check()
        try:
            threads: dict[str, int] = self._client.nthreads()
        except OSError:
            raise self._gone() from None
        return threads

    @property
    def room(self) -> int:
        """How many more jobs can be given now."""
        return max(0, JOBS_A_THREAD * sum(self.workers.values()) - len(self._jobs))

    def give(self, job: Job) -> None:
        """Hand a job to the scheduler."""
        name = f"stallscope-{job.key}-{time.monotonic_ns()}"
        future = self._client.submit(perform, job, key=name, pure=False)
        self._jobs[future] = job
        future.add_done_callback(self._ended.put)

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has ended; waits so long for the first."""
        self._check()
        if not self._jobs:
            return []
        ended: list[Any] = []
        try:
            ended.append(self._ended.get(timeout=timeout_s))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            pass
        return [self._take(future) for future in ended]

    def warm(self, say: Callable[[str], None]) -> None:
        """Let one worker of each machine compile the engine, before the others look for it."""
        hosts: dict[str, str] = {}
        for worker in self.workers:
            hosts.setdefault(worker.partition("://")[2].rpartition(":")[0], worker)
        if hosts:
            say(f"the compiled engine is made ready on {len(hosts)} machine{'s' if len(hosts) > 1 else ''}")
        made = [
            self._client.submit(warm_up, workers=[worker], pure=False, allow_other_workers=False)
            for worker in hosts.values()
        ]
        for future in made:
            error: Any = future.exception()
            if error is not None:
                raise self._unfit(error)

    def _take(self, future: Any) -> Finished:
        from distributed.scheduler import KilledWorker

        job = self._jobs.pop(future)
        if future.status == "cancelled":
            # Nobody here cancels: the client does so with all futures when it gives the scheduler up.
            raise self._gone()
        try:
            if future.status == "finished":
                finished: Finished = future.result()
                return finished
            error: Any = future.exception() if future.status == "error" else None
        except OSError:
            # The result was there, and the way to it broke.
            raise self._gone() from None
        if error is None or isinstance(error, KilledWorker):
            return Finished(job.key, lost="its workers were lost, perhaps for lack of memory")
        # The job itself raises nothing: the worker could not even begin it.
        raise self._unfit(error)

    def _unfit(self, error: Any) -> InputError:
        return InputError(
            f"--cluster {self.address}",
            f"a worker cannot run the replay ({type(error).__name__}: {error})",
            "install the same version of stallscope there",
        )

    def _check(self) -> None:
        if self._client.status in {"closed", "closing", "failed"} or not self._client.scheduler:
            raise self._gone()

    def _gone(self) -> ResultError:
        return ResultError(
            f"--cluster {self.address}",
            "the scheduler is gone",
            "start it again and repeat the command: what was finished is kept",
        )


def _quiet() -> None:
    """Dask speaks at length about what it can't reach; what matters of it is our own error."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in {"asyncio", "distributed", "tornado"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _connected(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--cluster", "Dask is not installed", "pip install 'stallscope[cluster]', here and on the workers"
        ) from None
    place = f"--cluster {address}"
    _quiet()
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="stallscope")
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise InputError(
            place,
            f"no scheduler answers ({' '.join(str(error).split())[:120]})",
            "give tcp://HOST:PORT of a running one",
        ) from None

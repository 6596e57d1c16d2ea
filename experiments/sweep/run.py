"""A sweep from its points to the store: claims what is not there yet, keeps the workers busy, stores what
comes back.

The order of work is that of the table. A replay whose worker is lost is tried once more; lost again, that is
its error. What another sweep of the same store is doing is waited for. Nothing is printed: a caller hears of
progress.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from experiments.sweep.axes import written
from experiments.sweep.points import Job, Sweep
from experiments.sweep.store import ELSEWHERE, FAILED, MINE, Store
from experiments.sweep.work import Crew, Finished
from hwmodels.errors import ResultError

WAIT_SECONDS = 0.5
TRIES = 2


@dataclass(slots=True)
class Tally:
    """How far a sweep has come, in replays."""

    total: int
    reused: int = 0
    """Found in the store, or done meanwhile by another sweep."""
    ran: int = 0
    failed: int = 0
    """Of all of these, those that ended with an error."""
    elsewhere: int = 0
    """Being done by another sweep now."""
    started_s: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """Replays that the store has."""
        return self.reused + self.ran

    @property
    def words(self) -> str:
        """Rate and time left, for a line of progress."""
        minutes = (time.monotonic() - self.started_s) / 60
        text = f"{self.done} of {self.total} replays"
        if self.failed:
            text += f", {self.failed} failed"
        if self.ran and minutes > 0:
            left_s = round((self.total - self.done) * 60 * minutes / self.ran)
            clock = f"{left_s // 3600}:{left_s // 60 % 60:02}:{left_s % 60:02}"
            text += f", {self.ran / minutes:.1f} a minute, {clock} left"
        if self.elsewhere:
            text += f"; waiting for {self.elsewhere} of another sweep"
        return text


def run_sweep(
    sweep: Sweep,
    store: Store,
    crew: Callable[[], Crew],
    report: Callable[[Tally], None] | None = None,
    *,
    retry_failed: bool = False,
) -> Tally:
    """Bring every replay of a sweep into the store. `crew` is called only if there is work, and is entered
    here.
    """
    jobs = sweep.jobs
    about = {
        entry.job.key: _about(entry.values, entry.gpu, entry.variant) for entry in sweep.entries if entry.job
    }
    tally = Tally(len(jobs))
    waiting = deque(jobs.values())
    told = report or (lambda _: None)
    first = _next_mine(waiting, store, about, tally, retry_failed)
    if first is None and not waiting:
        return tally
    with crew() as workers:
        tally.started_s = time.monotonic()
        _Work(workers, store, about, tally, told, retry_failed).go(first, waiting)
    return tally


def _next_mine(
    waiting: deque[Job], store: Store, about: Mapping[str, str], tally: Tally, again: bool
) -> Job | None:
    """The next job that nobody has done or is doing; those that somebody is doing go round to the end."""
    tally.elsewhere = 0
    for _ in range(len(waiting)):
        job = waiting.popleft()
        state = store.claim(job.key, about[job.key], again=again)
        if state == MINE:
            return job
        if state == ELSEWHERE:
            waiting.append(job)
            tally.elsewhere += 1
        else:
            tally.reused += 1
            tally.failed += state == FAILED
    return None


@dataclass(slots=True)
class _Work:
    crew: Crew
    store: Store
    about: Mapping[str, str]
    tally: Tally
    told: Callable[[Tally], None]
    again: bool
    losses: dict[str, int] = field(default_factory=dict)
    flying: dict[str, Job] = field(default_factory=dict)

    def go(self, first: Job | None, waiting: deque[Job]) -> None:
        """Until nothing waits and nothing is in flight."""
        ready = deque([first] if first is not None else [])
        while ready or waiting or self.flying:
            while self.crew.room > 0:
                job = (
                    ready.popleft()
                    if ready
                    else _next_mine(waiting, self.store, self.about, self.tally, self.again)
                )
                if job is None:
                    break
                self.flying[job.key] = job
                self.crew.give(job)
            for finished in self.crew.finished(WAIT_SECONDS):
                lost = self._stored(finished)
                if lost is not None:
                    ready.append(lost)
            if not self.flying and (ready or waiting):
                time.sleep(WAIT_SECONDS)
            self.store.beat()
            self.told(self.tally)

    def _stored(self, finished: Finished) -> Job | None:
        """Store what came back; a job whose worker was lost comes back to be tried again."""
        job = self.flying.pop(finished.key)
        error = finished.error
        if finished.foreign:
            raise ResultError(
                "sweep",
                "a worker has another version of the program, or other files, than this command",
                "bring them in step and repeat the command: what was finished is kept",
            )
        if finished.lost:
            self.losses[job.key] = self.losses.get(job.key, 0) + 1
            if self.losses[job.key] < TRIES:
                # Claiming it again counts the attempt.
                self.store.claim(job.key, self.about[job.key])
                return job
            error = f"{finished.lost}, {TRIES} times"
        fault = finished.fault or bool(finished.lost)
        self.store.put(job.key, finished.row, error, finished.seconds, fault=fault)
        self.tally.ran += 1
        self.tally.failed += finished.row is None
        return None


def _about(values: Mapping[str, object], gpu: str, variant: str) -> str:
    """What a stored result is, for people who look into the file; decides nothing."""
    point = ", ".join(f"{key}={written(value)}" for key, value in values.items())
    return f"{gpu}, {variant}: {point}"

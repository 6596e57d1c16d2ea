"""What a worker does with one job, wherever it runs: replay, make the row, or say why there is none.

The worker works out the key of the job again before it begins. Where that differs (another version of the
program, a file that has changed or isn't there), its result would stand under the wrong key, so it is refused
and the sweep ends.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from experiments.run import Limits, replay_variant
from experiments.sweep.identity import key_of
from experiments.sweep.points import Job
from experiments.sweep.row import row_of
from hwmodels.errors import InputError, StallscopeError


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a job: a row, an error that belongs to it, or neither because its worker was lost."""

    key: str
    row: dict[str, Any] | None = None
    error: str = ""
    seconds: float = 0.0
    fault: bool = False
    """The error is no matter of the input: the replay found something false, or broke."""
    lost: str = ""
    """How the worker was lost: the job may be tried again."""
    foreign: bool = False
    """The worker would have replayed something else."""


class Crew(Protocol):
    """Workers of one kind: local processes or a cluster. Left as a context, they are gone."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def room(self) -> int:
        """How many more jobs can be given now."""

    def give(self, job: Job) -> None:
        """Hand a job to a worker."""

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has ended; waits so long for the first."""


def perform(job: Job) -> Finished:
    """Do a job. Only an interruption is raised."""
    started = time.perf_counter()
    try:
        if key_of(job.config, job.gpu, job.variant) != job.key:
            return Finished(job.key, foreign=True)
        row = row_of(replay_variant(job.config, job.gpu, job.variant, Limits()))
    except StallscopeError as error:
        seconds = time.perf_counter() - started
        return Finished(job.key, None, str(error), seconds, fault=not isinstance(error, InputError))
    except Exception as error:
        text = " ".join(f"internal error: {type(error).__name__}: {error}".split())
        return Finished(job.key, None, text, time.perf_counter() - started, fault=True)
    return Finished(job.key, row, "", time.perf_counter() - started)


def warm_up() -> None:
    """Have the compiled engine compiled, once and before others ask for it; costs little where it was
    already.
    """
    from hwmodels import Gpu
    from simulator import replay
    from simulator.trace.kernels import from_spec

    slice_of_card = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
    replay(from_spec("kernel:copy,megabytes=0.015625"), slice_of_card, "compiled")

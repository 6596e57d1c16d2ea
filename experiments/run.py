"""One experiment: every variant of the workload on every card of a config, replayed and put into a folder.

Cards and variants run side by side. A limit of seconds is for all of them together: what it cuts short is
marked partial, what it never reached is left out and said. Nothing is printed here: a caller passes a
function that hears about progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import folder as folders
from experiments.checkpoints import Session, Signals
from experiments.config import Config
from experiments.summary import summary_of
from experiments.validation.validity import outside
from experiments.workers import Hearing, Line, default_workers, run_all
from experiments.workload import description, make_variant, variant_names
from hwmodels.errors import InputError, unknown
from simulator.machine.replay import ENGINES

if TYPE_CHECKING:
    from hwmodels import Gpu
    from simulator.machine.checkpoint.keeper import Keeper
    from simulator.statistics.result import Result

Report = Callable[[float, int], None]
"""Called now and then with (share of the work that is done, SM cycles replayed)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop early: SM cycles of each replay, seconds of the whole command; and what is kept."""

    cycles: int | None = None
    seconds: float | None = None
    keep_blocks: int = 0
    """Of each kernel, place and time of this many blocks, for a timeline."""


@dataclass(slots=True)
class Outcome:
    """What came of an experiment."""

    results: list[Result] = field(default_factory=list)
    replayed: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    wall_seconds: float = 0.0
    """From the start of the first replay to the end of the last, whatever ran side by side."""
    resumed: bool = False
    """Whether a part was replayed before, by the run whose checkpoint this one went on from."""

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return summary_of(self.results, self.config, self.replayed, self.wall_seconds, self.resumed)

    def write(self, folder: Path) -> None:
        """Fill a folder that `folder.prepare` has accepted."""
        folders.write(folder, self.results, self.config, self.summary, self.cards)


def cards_of(config: Config) -> list[Gpu]:
    """The cards of a config with its overrides; an InputError for two that would carry one name."""
    from hwmodels import Gpu

    gpus = [Gpu.from_card(name) for name in config["gpu"]]
    overrides: Mapping[str, Any] = config["set"]
    gpus = [gpu.with_overrides(overrides) if overrides else gpu for gpu in gpus]
    names = [gpu.name for gpu in gpus]
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise InputError(f"{config.place}:gpu", f"two cards are named {twice[0]!r}", "give one another name")
    return gpus


@dataclass(frozen=True, slots=True)
class Job:
    """One replay, as a worker process gets it: everything else follows from the config."""

    config: Config
    card: int
    variant: str
    limits: Limits
    started: float
    """`time.time()` at the start of the whole command: the limit of seconds counts from there."""
    part: Path | None = None
    """Where to write its checkpoint."""
    resume: Path | None = None
    """The checkpoint from which it goes on."""
    source: Path | None = None
    """The file of the whole command in which that was."""


def run(
    config: Config,
    limits: Limits | None = None,
    report: Report | None = None,
    workers: int | None = None,
    *,
    ready: Callable[[], object] | None = None,
    session: Session | None = None,
    heard: Signals | None = None,
) -> Outcome:
    """Replay everything that the config asks for; results stand in its order whichever ends first.

    `ready` is called once, when the input has been found sound and before the first replay. With a `session`
    replays write checkpoints and go on from earlier ones; a stop that is `heard` then ends them with a
    KeyboardInterrupt once all have written theirs.
    """
    limits, started = limits or Limits(), time.time()
    if config["engine"] not in ENGINES:
        raise unknown(f"{config.place}:engine", "engine", config["engine"], ENGINES)
    gpus, names = cards_of(config), variant_names(config)
    outcome = Outcome(config=config.nested(), cards={gpu.name: _card_file(gpu) for gpu in gpus})
    # Every variant's kernels are made first: a bad workload is found before the first long replay.
    notes = [note for gpu in gpus for name in names for note in make_variant(config, name, gpu).notes]
    for gpu in gpus:
        outcome.replayed += [*description(config, gpu), *outside(gpu)]
    outcome.replayed += dict.fromkeys(notes)
    if ready is not None:
        ready()
    session = session or Session(None, Path())
    outcome.replayed += session.fit([f"{gpu.name}/{name}" for gpu in gpus for name in names])
    outcome.resumed = session.source is not None
    jobs = [
        Job(config, card, name, limits, started, *session.paths(f"{gpu.name}/{name}"), session.source)
        for card, gpu in enumerate(gpus)
        for name in names
    ]
    hearing = None
    if heard is not None:
        hearing = Hearing(lambda: heard.stop, lambda: heard.writes, session.bind)
    processes = workers or default_workers(len(jobs))
    replays_began = time.perf_counter()
    try:
        if processes == 1:
            results = _one_by_one(jobs, report, hearing)
        else:
            results = run_all(replay_job, jobs, processes, report, hearing)
    finally:
        session.bind()
    if heard is not None and heard.stop:
        raise KeyboardInterrupt
    outcome.wall_seconds = time.perf_counter() - replays_began
    for job, result in zip(jobs, results, strict=True):
        if result is None:
            missed = f"{gpus[job.card].name}, {job.variant}"
            outcome.replayed.append(f"Not reached within {limits.seconds} s: {missed}.")
        else:
            outcome.results.append(result)
    outcome.replayed += [sentence for result in outcome.results for sentence in _sample_of(result)]
    if not outcome.results:
        raise InputError("--max-seconds", f"{limits.seconds} s passed before any replay began", "give more")
    return outcome


def _sample_of(result: Result) -> list[str]:
    """What a sampled replay left out, and how far its cycles may be off; nothing for a whole one."""
    cut = [kernel for kernel in result.sampling.kernels if kernel.sampled]
    if not cut:
        return []
    blocks = f"{sum(one.replayed_blocks for one in cut):,} of {sum(one.grid_blocks for one in cut):,} blocks"
    error = max(one.error_ppm for one in cut) / 10_000
    kernels = f"{len(cut)} of {len(result.sampling.kernels)} kernels"
    return [
        f"Sampled, {result.card.name}, {result.variant}: {blocks} of {kernels}; cycles within {error:.2f} %."
    ]


def _card_file(gpu: Gpu) -> dict[str, Any]:
    """The numbers of a card as they were replayed; a slice is written as the card that it is, already cut."""
    return {key: value for key, value in gpu.dump().items() if key != "scale"}


def _one_by_one(jobs: Sequence[Job], report: Report | None, hearing: Hearing | None) -> list[Result | None]:
    results = []
    hearing = hearing or Hearing(lambda: False, lambda: 0, lambda: None)
    for place, job in enumerate(jobs):

        def tell(share: float, cycle: int, before: int = place) -> None:
            if report is not None:
                report((before + share) / len(jobs), cycle)

        told = 0

        def wrote(number: int) -> None:
            nonlocal told
            if number > told:
                told = number
                hearing.wrote()

        results.append(replay_job(job, Line(tell, hearing.must_stop, hearing.writes, wrote)))
    return results


def replay_job(job: Job, line: Line) -> Result | None:
    """Replay one variant on one card; None when the limit of seconds was over before it began."""
    from simulator.machine.checkpoint.keeper import Keeper

    limits = job.limits
    left = None if limits.seconds is None else limits.seconds - (time.time() - job.started)
    if left is not None and left <= 0:
        return None
    gpu = cards_of(job.config)[job.card]
    keeper = None
    if job.part is not None:
        line.stops_itself = True
        keeper = Keeper(job.part, line.wish, also_at_end=True)
    limits = replace(limits, seconds=left)
    try:
        return replay_variant(job.config, gpu, job.variant, limits, line, keeper, job.resume)
    except InputError as error:
        if job.resume is None or error.place != str(job.resume):
            raise
        raise InputError(str(job.source), error.problem, error.remedy) from None


def replay_variant(
    config: Config,
    gpu: Gpu,
    name: str,
    limits: Limits,
    progress: Report | None = None,
    keeper: Keeper | None = None,
    resume: Path | None = None,
) -> Result:
    """Make the kernels of one variant for a card and replay them."""
    from simulator import replay
    from simulator.machine.options import Preload

    variant = make_variant(config, name, gpu)
    return replay(
        variant.kernels,
        gpu,
        config["engine"],
        launch=config["launch"],
        interval_cycles=config["intervals.cycles"],
        l2_state=config["workload.l2_state"],
        preload=[Preload(address, size) for address, size in variant.copied],
        max_cycles=limits.cycles,
        max_seconds=limits.seconds,
        threads=config["threads"],
        keep_blocks=limits.keep_blocks,
        progress=progress,
        variant=variant.name,
        sample=config["sample"],
        checkpoint=keeper,
        resume=resume,
    )

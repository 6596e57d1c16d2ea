"""One experiment: every variant of the workload on every card of a config, replayed and put into a folder.

Cards and variants run one after the other; a limit of seconds is for all of them together, and what it cuts
short is marked partial, what it never reached is left out and said. Nothing is printed here: a caller
passes a function that hears about progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import folder as folders
from experiments.config import Config
from experiments.summary import summary_of
from experiments.workload import Variant, description, make_variant, variant_names
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from hwmodels import Gpu
    from simulator.statistics.result import Result

Report = Callable[[str, float], None]
"""Called with (what is running, share of the whole command that is done)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop early: SM cycles of each replay, seconds of the whole command."""

    cycles: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Outcome:
    """What came of an experiment."""

    results: list[Result] = field(default_factory=list)
    replayed: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return summary_of(self.results, self.config, self.replayed)

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


def run(config: Config, limits: Limits | None = None, report: Report | None = None) -> Outcome:
    """Replay everything that the config asks for, in its order."""
    limits, started = limits or Limits(), time.monotonic()
    gpus, names = cards_of(config), variant_names(config)
    outcome = Outcome(config=config.nested(), cards={gpu.name: gpu.dump() for gpu in gpus})
    # Every variant's kernels are made first: a bad workload is found before the first long replay.
    planned = [(gpu, make_variant(config, name, gpu)) for gpu in gpus for name in names]
    for gpu in gpus:
        outcome.replayed += description(config, gpu)
    outcome.replayed += dict.fromkeys(note for _, variant in planned for note in variant.notes)
    for place, (gpu, variant) in enumerate(planned):
        left = None if limits.seconds is None else limits.seconds - (time.monotonic() - started)
        if left is not None and left <= 0:
            outcome.replayed.append(f"Not reached within {limits.seconds} s: {gpu.name}, {variant.name}.")
            continue
        budget = Limits(limits.cycles, left)
        share = (place / len(planned), 1 / len(planned))
        outcome.results.append(replay_variant(config, gpu, variant, budget, report, share))
    if not outcome.results:
        raise InputError("--max-seconds", f"{limits.seconds} s passed before any replay began", "give more")
    return outcome


def replay_variant(
    config: Config,
    gpu: Gpu,
    variant: Variant,
    limits: Limits,
    report: Report | None = None,
    share: tuple[float, float] = (0.0, 1.0),
) -> Result:
    """Replay one variant on one card. `share`: how far the command is by then, and its part of the whole."""
    from simulator import replay

    def progress(done: float, cycle: int) -> None:
        if report is not None:
            report(f"{gpu.name}, {variant.name}: SM cycle {cycle:,}", share[0] + share[1] * done)

    return replay(
        variant.kernels,
        gpu,
        config["engine"],
        launch=config["launch"],
        interval_cycles=config["intervals.cycles"],
        l2_state=config["workload.l2_state"],
        max_cycles=limits.cycles,
        max_seconds=limits.seconds,
        progress=progress,
        variant=variant.name,
    )

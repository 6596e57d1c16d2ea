"""From a config to the work of its sweep: points, and of each point one replay a card and variant.

A point whose config or card can't be made is no reason to stop: it has an error instead of replays. A config
key that doesn't exist, or a value of the wrong kind for it, is a mistake in the config and ends the command
at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config import Config, from_folder, make_config, read_values
from experiments.sweep.axes import Axis, axes_of, combinations
from experiments.sweep.identity import key_of
from experiments.workload import variant_names
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from hwmodels import Gpu


@dataclass(frozen=True, slots=True)
class Job:
    """One replay, as a worker gets it: a config, a card with its overrides, a variant, and the key of the
    result.
    """

    key: str
    config: Config
    gpu: Gpu
    variant: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table to be: a point on a card under a variant, with its job or the reason why it has
    none.
    """

    point: int
    values: dict[str, Any]
    gpu: str
    variant: str
    job: Job | None
    error: str = ""


@dataclass(slots=True)
class Sweep:
    """Everything that is to be done, in the order of the table."""

    base: dict[str, Any]
    """The resolved config of the file, `sweep` included, as a document."""
    name: str
    axes: list[Axis]
    points: int
    entries: list[Entry] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """The keys that vary, in their order."""
        return [key for axis in self.axes for key in axis.keys]

    @property
    def jobs(self) -> dict[str, Job]:
        """The different replays by key; two rows that come to the same replay share it."""
        return {entry.job.key: entry.job for entry in self.entries if entry.job is not None}


def sweep_of(path_or_name: str, settings: Mapping[str, Any]) -> Sweep:
    """Read a config, lay `--set` over it, and work out every point of its sweep."""
    values, place = read_values(path_or_name)
    axes, rest = axes_of(values.pop("sweep", None) or {}, settings, place)
    chosen = combinations(axes, place)
    cards = _Cards()
    sweep = Sweep(_document(values, place, rest, axes, chosen[0]), "", axes, len(chosen))
    sweep.name = str(sweep.base["name"])
    for number, point in enumerate(chosen):
        sweep.entries += _entries(number, point, _config(values, place, rest, point), cards)
    errors = [entry.error for entry in sweep.entries]
    if all(errors):
        raise InputError(f"{place}:sweep", f"no point can be run: the first says {errors[0]!r}", "mend that")
    return sweep


class _Cards:
    """Cards by name, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Gpu] = {}

    def get(self, name: str, overrides: Mapping[str, Any]) -> Gpu:
        from hwmodels import Gpu

        if name not in self._known:
            self._known[name] = Gpu.from_card(name)
        return self._known[name].with_overrides(overrides) if overrides else self._known[name]


def _config(
    values: Mapping[str, Any], place: str, rest: Mapping[str, Any], point: Mapping[str, Any]
) -> Config:
    """The config of one point. Paths of traces on an axis are relative to the file, as elsewhere in it."""
    own = dict(point)
    if own.get("workload.traces") is not None:
        own["workload.traces"] = from_folder(own["workload.traces"], Path(place).parent)
    return make_config(values, place, {**rest, **own})


def _document(
    values: Mapping[str, Any], place: str, rest: Mapping[str, Any], axes: list[Axis], first: Mapping[str, Any]
) -> dict[str, Any]:
    """The resolved config. A key that only its axis gives has the value of the first point."""
    try:
        config = make_config(values, place, rest)
    except InputError:
        config = _config(values, place, rest, first)
    document = config.nested()
    document["sweep"] = {
        ", ".join(axis.keys): [list(step) if len(axis.keys) > 1 else step[0] for step in axis.steps]
        for axis in axes
    }
    return document


def _entries(number: int, point: dict[str, Any], config: Config, cards: _Cards) -> list[Entry]:
    made = []
    for card in config["gpu"]:
        base = cards.get(card, {})
        try:
            gpu = cards.get(card, config["set"])
        except InputError as error:
            made += [
                Entry(number, point, base.name, name, None, str(error)) for name in variant_names(config)
            ]
            continue
        for name in variant_names(config):
            job = Job(key_of(config, gpu, name), config, gpu, name)
            made.append(Entry(number, point, gpu.name, name, job))
    return made

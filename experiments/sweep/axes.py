"""The axes of a sweep: which keys vary, together or by themselves, and the points that this makes.

Each entry of `sweep:` is an axis, and the points are the product of all axes, the last one changing fastest.
An entry whose key names several keys with commas between them is zipped: each of its values is a list with
one value a key. `--set` narrows an axis to one value or gives it others; `--set sweep.KEY=[…]` adds one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.config import known
from hwmodels.errors import InputError

MOST_POINTS = 100_000
PREFIX = "sweep."


@dataclass(frozen=True, slots=True)
class Axis:
    """Keys that vary together, and for each step one value a key."""

    keys: tuple[str, ...]
    steps: tuple[tuple[Any, ...], ...]


def axes_of(
    sweep: Mapping[str, Any], settings: Mapping[str, Any], place: str
) -> tuple[list[Axis], dict[str, Any]]:
    """The axes of a config's `sweep:` under `--set`, and the settings that name no axis."""
    axes = [_axis(key, values, f"{place}:sweep.{key}") for key, values in sweep.items()]
    rest = {}
    for key, value in settings.items():
        if key.startswith(PREFIX):
            plain = key.removeprefix(PREFIX)
            _lay_over(axes, plain, value, f"--set {key}", new=True)
        elif not _lay_over(axes, key, value, f"--set {key}", new=False):
            rest[key] = value
    if not axes:
        raise InputError(
            f"{place}:sweep", "names no key to vary", "write `sweep: {registers.cap: [null, 32]}`"
        )
    names = [key for axis in axes for key in axis.keys]
    twice = [key for at, key in enumerate(names) if key in names[:at]]
    if twice:
        raise InputError(f"{place}:sweep", f"{twice[0]} stands on two axes", "name each key once")
    return axes, rest


def combinations(axes: Sequence[Axis], place: str) -> list[dict[str, Any]]:
    """Every point as the values of its keys, the last axis changing fastest."""
    count = 1
    for axis in axes:
        count *= len(axis.steps)
    if count > MOST_POINTS:
        raise InputError(f"{place}:sweep", f"{count:,} points", f"{MOST_POINTS:,} at most")
    return [
        dict(
            pair for axis, step in zip(axes, steps, strict=True) for pair in zip(axis.keys, step, strict=True)
        )
        for steps in itertools.product(*(axis.steps for axis in axes))
    ]


def written(value: Any) -> str | int | float:
    """A value of an axis as a cell of a table; null is a word, since an empty cell says that nothing is
    there.
    """
    if isinstance(value, bool) or value is None or isinstance(value, (list, tuple, dict)):
        return json.dumps(value, separators=(",", ":"))
    return value if isinstance(value, (int, float)) else str(value)


def _axis(key: str, values: Any, place: str) -> Axis:
    keys = tuple(part.strip() for part in str(key).split(","))
    for one in keys:
        _check_key(one, place)
    if not isinstance(values, list) or not values:
        raise InputError(place, f"{str(values)[:40]!r} is no list of values", "write for example [32, 64]")
    if len(keys) == 1:
        steps = tuple((value,) for value in values)
    else:
        for value in values:
            if not isinstance(value, list) or len(value) != len(keys):
                raise InputError(
                    place,
                    f"{str(value)[:40]!r} is no list of {len(keys)} values",
                    f"one for each of {', '.join(keys)}",
                )
        steps = tuple(tuple(value) for value in values)
    seen: set[str] = set()
    for step in steps:
        text = json.dumps(step, default=str)  # as it is written: `true` is not 1 here
        if text in seen:
            raise InputError(place, f"{text} stands twice", "name each value once")
        seen.add(text)
    return Axis(keys, steps)


def _check_key(key: str, place: str) -> None:
    from hwmodels.gpu import gpu_keys
    from hwmodels.schema import check_key

    if key.startswith("gpu."):
        check_key(key.removeprefix("gpu."), gpu_keys(), place)
    elif key in {"name", "sweep", "set"}:
        raise InputError(place, f"{key} can't be an axis", "vary a key that decides the result")
    else:
        known(key, place)


def _lay_over(axes: list[Axis], key: str, value: Any, place: str, *, new: bool) -> bool:
    """Give the axis of a key other values; False where there is none and none is to be added."""
    values = value if isinstance(value, list) else [value]
    for at, axis in enumerate(axes):
        if axis.keys == (key,):
            axes[at] = _axis(key, values, place)
            return True
        if key in axis.keys:
            raise InputError(
                place,
                f"is zipped with {', '.join(one for one in axis.keys if one != key)}",
                "change the config's sweep",
            )
    if new:
        axes.append(_axis(key, values, place))
    return new

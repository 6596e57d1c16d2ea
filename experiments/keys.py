"""Every key of a config file, declared once: its default, how its value is read, and a sentence.

A key is a dotted path below the config's top (`workload.batch`). Readers check a value and return it in the
form that the program uses; a value that can't be used is an InputError that names the key and the nearest
valid choice. Keys of a card (`gpu.…`) are not here: the card's own description checks them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hwmodels.errors import InputError, unknown

STRATEGIES = (
    "none",
    "vertical",
    "horizontal",
    "horizontal-then-vertical",
    "vertical-then-horizontal",
    "best",
    "tvm-style",
    "xla-style",
    "inductor-style",
    "block-split",
    "thread-split",
    "whole",
    "analytic-toy",
)
MAX_ITEMS = 10_000

Reader = Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it is when left out, how it is read, what it means."""

    default: Any
    read: Reader
    sentence: str


def word(pattern: str, example: str) -> Reader:
    """A text of one line that matches a pattern."""

    def read(value: Any, place: str) -> str:
        if isinstance(value, str) and len(value) <= 500 and re.fullmatch(pattern, value):
            return value
        raise InputError(
            place, f"{str(value)[:60]!r} is not of the right form", f"a text such as {example!r}"
        )

    return read


def choice(*choices: str) -> Reader:
    """One word of a closed list."""

    def read(value: Any, place: str) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise unknown(place, "choice", str(value)[:60], choices)

    return read


def whole(low: int, high: int, unit: str) -> Reader:
    """A whole number in a range."""

    def read(value: Any, place: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(place, f"{str(value)[:60]!r} is not a whole number", f"{low} to {high} {unit}")
        if not low <= value <= high:
            near = low if value < low else high
            raise InputError(place, f"{value} is outside {low} to {high} {unit}", f"{near} is the nearest")
        return value

    return read


def share(value: Any, place: str) -> float:
    """A number between 0 and 1, both left out."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(place, f"{str(value)[:60]!r} is no share between 0 and 1", "such as 0.02 for 2 %")
    return float(value)


def optional(reader: Reader) -> Reader:
    """The same, or null."""
    return lambda value, place: None if value is None else reader(value, place)


def several(reader: Reader, example: str, *, again: bool = False) -> Reader:
    """A list of one or more, each once unless `again`; a single value stands for a list of it."""

    def read(value: Any, place: str) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else [value]
        if not 1 <= len(items) <= MAX_ITEMS:
            raise InputError(place, f"a list of {len(items)}", f"1 to {MAX_ITEMS} items, such as {example}")
        made = tuple(reader(item, f"{place}[{at}]") for at, item in enumerate(items))
        twice = [item for at, item in enumerate(made) if item in made[:at] and not isinstance(item, dict)]
        if twice and not again:
            raise InputError(place, f"{twice[0]!r} stands twice", "name each once")
        return made

    return read


def mappings(value: Any, place: str) -> tuple[dict[str, Any], ...]:
    """A list of mappings whose content another part of the program checks."""
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= MAX_ITEMS or not all(isinstance(item, dict) for item in items):
        raise InputError(place, "not a list of mappings", "write `- {name: copy, megabytes: 4}`")
    return tuple(items)


def spans(value: Any, place: str) -> tuple[tuple[str, str], ...]:
    """Parts of a graph: pairs of a first and a last node or tensor."""
    items = value if isinstance(value, list) else []
    pairs = [item for item in items if isinstance(item, list) and len(item) == 2]
    if not items or len(pairs) != len(items) or len(items) > MAX_ITEMS:
        raise InputError(place, "not a list of [first, last]", "write parts: [[n0, n2], [n10, n15]]")
    name = word(r"\S+", "n0")
    return tuple((name(first, place), name(last, place)) for first, last in pairs)


def overrides(value: Any, place: str) -> dict[str, Any]:
    """Dotted keys of a card with their values."""
    if not isinstance(value, dict):
        raise InputError(place, "not a mapping", "write `set: {gpu.scale: 1/4}`")
    for key in value:
        if not str(key).startswith("gpu."):
            raise InputError(f"{place}.{key}", "not a key of the card", f"did you mean gpu.{key}?")
    return dict(value)


def axes(value: Any, place: str) -> dict[str, list[Any]]:
    """A sweep: for each dotted key the list of its values. Keys are checked point by point when it runs."""
    if not isinstance(value, dict) or not all(isinstance(one, list) and one for one in value.values()):
        raise InputError(
            place, "not a mapping of keys to lists", "write `sweep: {registers.cap: [null, 32]}`"
        )
    return dict(value)


_name = word(r"[A-Za-z0-9][A-Za-z0-9 ._+-]*", "my-experiment")
_path = word(r"[^\x00-\x1f]+", "light_resnet50")

KEYS: dict[str, Key] = {
    "name": Key("experiment", _name, "name of the experiment, and of its folder"),
    "gpu": Key(("a100-sxm-40gb",), several(_path, "[a100-sxm-40gb]"), "cards, by name or path"),
    "set": Key({}, overrides, "overrides of every card, by dotted key"),
    "workload.onnx": Key(None, optional(_path), "a model: a name from the onnx package, or a path"),
    "workload.traces": Key(None, optional(several(_path, "[my.trace.npz]", again=True)), "kernel traces"),
    "workload.operators": Key(None, optional(mappings), "a list of operators, written here"),
    "workload.kernels": Key(None, optional(mappings), "named parameterised kernels"),
    "workload.first": Key(None, optional(word(r"\S+", "n0")), "first node or tensor of the part"),
    "workload.last": Key(None, optional(word(r"\S+", "n2")), "last node or tensor of the part"),
    "workload.parts": Key(None, optional(spans), "several parts, each [first, last]"),
    "workload.window": Key(
        None,
        optional(whole(1, 1024, "operators")),
        "cut each part into pieces of so many operators, in order",
    ),
    "workload.batch": Key(None, optional(whole(1, 65_536, "images")), "batch size; null: the model's"),
    "workload.dtype": Key("float16", choice("float16", "float32"), "type of tensors and weights"),
    "workload.fold": Key(
        "none", choice("none", "batch_norm"), "what is folded into the filters before it ahead of time"
    ),
    "workload.rounding": Key(
        "kernel",
        choice("kernel", "operator"),
        "where half precision is rounded: where kernels store, or behind each operator",
    ),
    "workload.l2_state": Key("cold", choice("cold", "warm"), "L2 before a variant's first kernel"),
    "fusion": Key(("none",), several(choice(*STRATEGIES), "[none, vertical]"), "fusion strategies"),
    "registers.cap": Key(None, optional(whole(16, 255, "registers")), "launch bounds; null: as allocated"),
    "launch": Key("stream", choice("stream", "graph"), "how kernels are launched"),
    "intervals.cycles": Key(10_000, whole(0, 10**12, "SM cycles"), "length of an interval; 0: none"),
    "engine": Key("compiled", choice("compiled", "reference"), "which engine replays"),
    "threads": Key(1, whole(1, 256, "threads"), "threads that share a replay on the compiled engine"),
    "sample": Key(None, optional(share), "replay part of long kernels, within this share; null: all"),
    "sweep": Key({}, axes, "values of keys, for `stallscope sweep`"),
}
SOURCES = ("workload.onnx", "workload.traces", "workload.operators", "workload.kernels")

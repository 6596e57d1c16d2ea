"""What several commands share: `--json`, `--set KEY=VALUE`, choosing a card, and plain tables.

`--json` prints exactly one document, with numbers that are not finite as null. A value of `--set` is a YAML
scalar or a list of scalars, read by the safe loader; tags and anchors are refused.
"""

import argparse
import enum
import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError

if TYPE_CHECKING:
    from hwmodels import Gpu

VALUE_LIMIT_CHARACTERS = 10_000


def add_common(parser: argparse.ArgumentParser, *, json_option: bool = True) -> None:
    """The options that every command takes."""
    if json_option:
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of words")
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks and debug messages"
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    """The repeatable option `--set KEY=VALUE`."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key by its dotted path, e.g. gpu.register_file.size_kib=512 (repeatable)",
    )


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """The keys and values of `--set`; of a key that comes twice the last counts."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {text}", "no KEY=VALUE", "write for example gpu.sm_count=4")
        settings[key.strip()] = _value(f"--set {key.strip()}", value)
    return settings


def _value(place: str, text: str) -> Any:
    import yaml

    remedy = "give a number, a word, null, or a list such as [64, 128]"
    if len(text) > VALUE_LIMIT_CHARACTERS:
        raise InputError(place, f"a value of {len(text)} characters", f"{VALUE_LIMIT_CHARACTERS} at most")
    lists = 0
    try:
        # The events are looked at as they come, so that a hostile value is refused before anything is built.
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if (
                isinstance(event, yaml.AliasEvent)
                or getattr(event, "anchor", None)
                or getattr(event, "tag", None)
            ):
                raise InputError(place, "tags and anchors are not allowed", remedy)
            lists += isinstance(event, yaml.SequenceStartEvent)
            if lists > 1 or isinstance(event, yaml.MappingStartEvent):
                raise InputError(place, f"{text[:40]!r} is neither a scalar nor a list of scalars", remedy)
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        raise InputError(place, f"{text[:40]!r} is no YAML value", remedy) from None
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str | int | float | None):
            raise InputError(place, f"{text[:40]!r} is a {type(item).__name__}", remedy)
        if isinstance(item, float) and not math.isfinite(item):
            raise InputError(place, f"{text[:40]!r} is not finite", remedy)
    return value


def gpu_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, all of which must address the card: for commands that have nothing else to set."""
    for key in settings:
        if not key.startswith("gpu."):
            raise InputError(f"--set {key}", "not a key of the card", f"did you mean gpu.{key}?")
    return settings


def load_gpu(card: str, settings: dict[str, Any] | None = None) -> "Gpu":
    """A card by name or path, with the `gpu.` settings applied."""
    from hwmodels import Gpu

    gpu = Gpu.from_card(card)
    return gpu.with_overrides(settings) if settings else gpu


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(_plain(document), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "item") and not isinstance(value, str):  # a NumPy scalar
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table of aligned columns: numbers to the right, words to the left, nothing trailing."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    numeric = [bool(cells) and all(_is_number(row[at]) for row in cells) for at in range(len(headers))]
    for row in (list(headers), *cells):
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip())


def _is_number(text: str) -> bool:
    return text in {"", "-"} or text.replace(",", "").replace(".", "").lstrip("+-").isdigit()


def say(text: str) -> None:
    """A message for the person at the terminal: standard error, so that results stay clean."""
    print(text, file=sys.stderr, flush=True)

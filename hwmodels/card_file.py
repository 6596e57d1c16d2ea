"""Cards on disk: finding one by name or path, following `extends:`, and laying it out as entries by key.

In a card file a number stands as `{value: 50, unit: L2 cycles, source: "...", confidence: low}`. A bare
number is allowed too: it takes `source` and `confidence` from the mapping around it, or counts as the
user's own. A unit, where given, must be the key's unit, since nothing is converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwmodels.card_yaml import load_mapping
from hwmodels.entry import CONFIDENCES, Entry
from hwmodels.errors import InputError, unknown
from hwmodels.kinds import Kind
from hwmodels.paths import is_file
from hwmodels.schema import check_key

FOLDER = Path(__file__).parent / "cards"
BASE_PREFIX = "base-"
MAX_CHAIN = 8


def cards() -> list[str]:
    """Names of the cards that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if not path.stem.startswith(BASE_PREFIX))


def find_card(name_or_path: str, folder: Path | None = None) -> Path:
    """The file of a card; a path is read beside `folder` when it is relative."""
    if _is_path(name_or_path):
        path = (folder or Path()) / name_or_path
        if not is_file(path):
            raise InputError(
                name_or_path, "no such card file", f"a path to a YAML file, or one of {', '.join(cards())}"
            )
        return path
    path = FOLDER / f"{name_or_path}.yaml"
    is_base = name_or_path.startswith(BASE_PREFIX) and folder is not None
    if name_or_path in cards() or (is_base and is_file(path)):
        return path
    raise unknown("gpu", "card", name_or_path, cards())


def load_entries(name_or_path: str, keys: Mapping[str, Kind]) -> dict[str, Entry]:
    """Every key that the card and the cards it extends give, the nearest file winning."""
    entries: dict[str, Entry] = {}
    first = path = find_card(name_or_path)
    seen: list[Path] = []
    while True:
        if path.resolve() in seen:
            raise InputError(
                str(path), "extends itself through a circle", "let one card of the circle extend nothing"
            )
        seen.append(path.resolve())
        if len(seen) > MAX_CHAIN:
            raise InputError(
                str(path), f"a chain of more than {MAX_CHAIN} cards", "extend a card nearer to its end"
            )
        try:
            raw = load_mapping(path)
            parent = raw.pop("extends", None)
            for key, entry in _entries(raw, keys, path).items():
                entries.setdefault(key, entry)
        except InputError as error:
            if path is first:
                raise
            raise InputError(f"{first} extends {error.place}", error.problem, error.remedy) from None
        if parent is None:
            return entries
        if not isinstance(parent, str):
            raise InputError(f"{path}:extends", f"{parent!r} is not a card", "give one card's name or path")
        try:
            path = find_card(parent, path.parent)
        except InputError as error:
            raise InputError(f"{path}:extends", error.problem, error.remedy) from None


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.endswith((".yaml", ".yml"))


def _entries(raw: Mapping[str, Any], keys: Mapping[str, Kind], path: Path) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    _walk(raw, "", {"source": "user", "confidence": "user"}, keys, str(path), entries)
    return entries


def _walk(
    node: Mapping[str, Any],
    prefix: str,
    origin: Mapping[str, str],
    keys: Mapping[str, Kind],
    file: str,
    entries: dict[str, Entry],
) -> None:
    origin = {**origin, **{name: node[name] for name in ("source", "confidence") if name in node}}
    for name, value in node.items():
        if name in {"source", "confidence"}:
            continue
        key = prefix + name
        is_group = isinstance(value, dict) and "value" not in value
        if is_group and any(known.startswith(f"{key}.") for known in keys):
            _walk(value, f"{key}.", origin, keys, file, entries)
            continue
        place = f"{file}:{key}"
        check_key(key, keys, place)
        entries[key] = _entry(value, origin, keys[key], place)


def _entry(value: Any, origin: Mapping[str, str], kind: Kind, place: str) -> Entry:
    fields = dict(value) if isinstance(value, dict) else {"value": value}
    for name in fields:
        if name not in {"value", "unit", "source", "confidence"}:
            raise unknown(place, "key", name, ["value", "unit", "source", "confidence"])
    if "value" not in fields:
        raise InputError(place, "no value", "write {value: ..., unit: ..., source: ..., confidence: ...}")
    unit = fields.get("unit", kind.unit)
    if unit != kind.unit:
        raise InputError(
            f"{place}.unit", f"the unit {unit!r} is not the key's", f"give the value in {kind.unit!r}"
        )
    source = fields.get("source", origin["source"])
    confidence = fields.get("confidence", origin["confidence"])
    if not isinstance(source, str) or not source.strip():
        raise InputError(f"{place}.source", "not a text", "say where the number comes from")
    if confidence not in CONFIDENCES:
        raise unknown(f"{place}.confidence", "confidence", str(confidence), CONFIDENCES)
    checked = kind.read(fields["value"], place)
    return Entry(kind.show(checked), unit, source, confidence)

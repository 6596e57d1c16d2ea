"""A config file, checked and resolved: which cards, which workload, which variants, and how to replay them.

The file is YAML; `--set` addresses the same keys by dotted path, and `gpu.<key>` those of the card. An
unknown key is an error that names the nearest valid one. The resolved form has every key, so that a result
folder says what was run without looking anything up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.keys import KEYS, SOURCES
from hwmodels.card_yaml import load_mapping
from hwmodels.errors import InputError, unknown
from hwmodels.paths import exists

SHIPPED = Path(__file__).parent / "configs"


@dataclass(frozen=True, slots=True)
class Config:
    """All keys with their checked values, by dotted path, and where they came from."""

    values: Mapping[str, Any]
    place: str

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def parts(self) -> tuple[tuple[str | None, str | None], ...]:
        """Parts of the graph as (first, last); None means from the beginning, or to the end."""
        given: tuple[tuple[str | None, str | None], ...] | None = self["workload.parts"]
        return given or ((self["workload.first"], self["workload.last"]),)

    @property
    def source(self) -> str:
        """Which of the four sources of a workload was given: onnx, traces, operators or kernels."""
        (source,) = (key for key in SOURCES if self[key] is not None)
        return source.removeprefix("workload.")

    def nested(self) -> dict[str, Any]:
        """The resolved config in the form of the file, every key written out."""
        document: dict[str, Any] = {}
        for key, value in self.values.items():
            if value is None and key in (*SOURCES, "workload.first", "workload.last", "workload.parts"):
                continue
            *above, last = key.split(".")
            below = document
            for name in above:
                below = below.setdefault(name, {})
            below[last] = _listed(value)
        return document


def load_config(path_or_name: str, settings: Mapping[str, Any] | None = None) -> Config:
    """Read a config file, or a shipped one by name, with `--set` keys laid over it."""
    values, place = read_values(path_or_name)
    return make_config(values, place, settings)


def read_values(path_or_name: str) -> tuple[dict[str, Any], str]:
    """The keys of a config file, or of a shipped one by name, as they are written; and where they stand."""
    path = Path(path_or_name)
    if not exists(path):
        shipped = SHIPPED / f"{path_or_name}.yaml"
        if not exists(shipped):
            names = [one.stem for one in SHIPPED.glob("*.yaml")]
            raise unknown(path_or_name, "config (neither a file nor shipped)", path_or_name, names)
        path = shipped
    values = _flattened(load_mapping(path), str(path))
    if values.get("workload.traces") is not None:
        values["workload.traces"] = from_folder(values["workload.traces"], path.parent)
    return values, str(path)


def make_config(values: Mapping[str, Any], place: str, settings: Mapping[str, Any] | None = None) -> Config:
    """Check values by dotted path and fill in the defaults."""
    merged = dict(values)
    cards = dict(merged.get("set") or {}) if isinstance(merged.get("set"), dict | None) else merged["set"]
    for key, value in (settings or {}).items():
        if key.startswith("gpu.") and isinstance(cards, dict):
            cards[key] = value
        else:
            known(key, f"--set {key}")
            merged[key] = value
    merged["set"] = cards
    for key in merged:
        known(key, place)
    resolved = {
        key: declared.read(merged[key], f"{place}:{key}") if key in merged else declared.default
        for key, declared in KEYS.items()
    }
    _check(resolved, place)
    return Config(resolved, place)


def _check(values: Mapping[str, Any], place: str) -> None:
    given = [key for key in SOURCES if values[key] is not None]
    if len(given) != 1:
        what = "no workload" if not given else f"{given[0]} beside {given[1]}"
        raise InputError(f"{place}:workload", what, f"give exactly one of {', '.join(SOURCES)}")
    part = values["workload.first"] or values["workload.last"]
    if part and values["workload.parts"]:
        raise InputError(
            f"{place}:workload.parts", "stands beside first or last", "give one of the two forms"
        )
    if (part or values["workload.parts"]) and given[0] in {"workload.traces", "workload.kernels"}:
        raise InputError(
            f"{place}:workload", f"{given[0]} has no nodes to choose from", "leave first and last out"
        )


def known(key: str, place: str) -> None:
    """An InputError for a key that no config has, with the nearest that one has."""
    if key in KEYS:
        return
    last = key.rsplit(".", 1)[-1]
    same_end = [one for one in KEYS if one.rsplit(".", 1)[-1] == last]
    raise unknown(place, "key", key, same_end or KEYS)


def _flattened(document: Mapping[str, Any], place: str, prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in document.items():
        key = f"{prefix}{name}"
        if key in KEYS:
            values[key] = value
        elif isinstance(value, dict) and any(one.startswith(f"{key}.") for one in KEYS):
            values.update(_flattened(value, place, f"{key}."))
        else:
            known(key, place)
    return values


def from_folder(value: Any, folder: Path) -> Any:
    """Trace paths of a file are relative to the file; `kernel:` names are no paths."""
    items = value if isinstance(value, list) else [value]
    return [
        str(folder / item) if isinstance(item, str) and not item.startswith("kernel:") else item
        for item in items
    ]


def _listed(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value

"""The keys that a card has, read off the descriptions, and how a set of values becomes those descriptions.

A key is the dotted path of a field (`l2.size_kib`, `dram.timing.cl_ns`, `operations.FFMA.latency_cycles`).
The descriptions themselves are the only list of fields; this file walks them and knows no card and no
number.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from hwmodels.errors import InputError, nearest
from hwmodels.field import kind_of
from hwmodels.kinds import Kind
from hwmodels.operations import Operation, OperationTable, OperationTiming


@cache
def keys_of(spec: type, prefix: str = "") -> Mapping[str, Kind]:
    """Every key below a description, with its declaration, in the order of the fields."""
    keys: dict[str, Kind] = {}
    for name, kind, part in _members(spec):
        if kind is not None:
            keys[prefix + kind.key(name)] = kind
        elif part is OperationTable:
            for operation in Operation:
                keys.update(keys_of(OperationTiming, f"{prefix}{name}.{operation.name}."))
        elif part is not None:
            keys.update(keys_of(part, f"{prefix}{name}."))
    return keys


def check_key(key: str, keys: Mapping[str, Kind], place: str) -> None:
    """Refuse a key that does not exist; the remedy is the nearest, those with the same last name first."""
    if key in keys:
        return
    last = key.rsplit(".", 1)[-1]
    same_end = [known for known in keys if known.rsplit(".", 1)[-1] == last]
    raise InputError(place, f"unknown key {key!r}", f"did you mean {nearest(key, same_end or keys)!r}?")


def assemble(spec: type, values: Mapping[str, Any], derived: Mapping[str, Any], prefix: str = "") -> Any:
    """Build a description and its parts from checked values; `derived` holds the fields that are no keys."""
    arguments: dict[str, Any] = {}
    for name, kind, part in _members(spec):
        if kind is not None:
            arguments[name] = values[prefix + kind.key(name)]
        elif part is OperationTable:
            arguments[name] = _operations(values, f"{prefix}{name}.")
        elif part is not None:
            arguments[name] = assemble(part, values, derived, f"{prefix}{name}.")
        elif prefix + name in derived:
            arguments[name] = derived[prefix + name]
    return spec(**arguments)


def flatten(description: Any, prefix: str = "") -> dict[str, Any]:
    """The reverse of `assemble`: every key with its value in the form that card files use."""
    values: dict[str, Any] = {}
    spec: type = type(description)
    for name, kind, part in _members(spec):
        value = getattr(description, name)
        if kind is not None:
            values[prefix + kind.key(name)] = kind.show(value)
        elif part is OperationTable:
            for operation in value:
                values.update(flatten(value[operation], f"{prefix}{name}.{operation.name}."))
        elif part is not None:
            values.update(flatten(value, f"{prefix}{name}."))
    return values


def missing_keys(keys: Mapping[str, Kind], given: typing.Container[str]) -> list[str]:
    """Keys without a value. An operation that the card does not mention at all is lacking, not missing."""
    missing = [key for key in keys if key not in given]
    groups = {key.rsplit(".", 1)[0] for key in keys if key.startswith("operations.") and key in given}
    return [key for key in missing if not key.startswith("operations.") or key.rsplit(".", 1)[0] in groups]


@cache
def _members(spec: type) -> tuple[tuple[str, Kind | None, type | None], ...]:
    hints = typing.get_type_hints(spec)
    members = []
    for field in dataclasses.fields(spec):
        part = hints[field.name] if dataclasses.is_dataclass(hints[field.name]) else None
        members.append((field.name, kind_of(field), part))
    return tuple(members)


def _operations(values: Mapping[str, Any], prefix: str) -> OperationTable:
    timings: list[OperationTiming | None] = []
    for operation in Operation:
        below = f"{prefix}{operation.name}."
        present = f"{below}pipeline" in values
        timings.append(assemble(OperationTiming, values, {}, below) if present else None)
    return OperationTable(tuple(timings))

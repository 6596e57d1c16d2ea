"""Reading a YAML file that nobody vouches for.

Only plain mappings, lists, numbers and words pass. Tags, anchors and aliases, duplicate keys, numbers that
are not finite, files above 1 MB and nesting above ten levels are refused with one line, before anything is
built from them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from hwmodels.errors import InputError

MAX_BYTES = 1_000_000
MAX_DEPTH = 10

# The C parser reads a card ten times as fast; both are "safe": they make plain data only.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_mapping(path: Path) -> dict[str, Any]:
    """The file's top mapping; an InputError names the file and the line."""
    place = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(place, f"cannot be read ({error.strerror})", "give a readable YAML file") from None
    if len(data) > MAX_BYTES:
        raise InputError(place, f"more than {MAX_BYTES} bytes", "a card is a few kilobytes")
    try:
        return parse_mapping(data.decode("utf-8"), place)
    except UnicodeDecodeError as error:
        raise InputError(place, f"not UTF-8 at byte {error.start}", "save it as UTF-8 text") from None


def parse_mapping(text: str, place: str) -> dict[str, Any]:
    """As `load_mapping` for text that is in memory."""
    try:
        _check_events(text, place)
        node = yaml.compose(text, Loader=_LOADER)
        if not isinstance(node, yaml.MappingNode):
            raise InputError(place, "not a mapping of keys to values", "write `key: value` lines")
        value = _mapping(node, place)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{place}:{mark.line + 1}" if mark else place
        problem = getattr(error, "problem", None) or "not YAML"
        raise InputError(where, f"not valid YAML ({problem})", "correct the line") from None
    except (ValueError, OverflowError) as error:
        raise InputError(place, f"not valid YAML ({error})", "correct the value") from None
    return value


def _check_events(text: str, place: str) -> None:
    """Refuse what could explode before a tree is made of it."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        where = f"{place}:{event.start_mark.line + 1}" if event.start_mark else place
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InputError(
                where, "anchors and aliases are not accepted", "write the value out, or use `extends:`"
            )
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise InputError(where, f"the tag {tag!r} is not accepted", "leave the tag out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise InputError(where, f"nested deeper than {MAX_DEPTH} levels", "a card needs four")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _mapping(node: yaml.MappingNode, place: str) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        where = f"{place}:{key_node.start_mark.line + 1}"
        if not isinstance(key_node, yaml.ScalarNode):
            raise InputError(where, "a key is not a word", "write `key: value`")
        key = str(key_node.value)
        if key in mapping:
            raise InputError(where, f"the key {key!r} stands twice", "keep one of them")
        mapping[key] = _value(value_node, place)
    return mapping


def _value(node: yaml.Node, place: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, place) for item in node.value]
    value = yaml.constructor.SafeConstructor().construct_object(node)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(
            f"{place}:{node.start_mark.line + 1}", f"{node.value} is not finite", "write a finite number"
        )
    return value

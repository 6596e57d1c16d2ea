"""How one number of a card is declared: its unit, its legal range and a sentence, beside the field itself.

Overrides, range checks, `stallscope gpu show` and the docs all read these declarations, so a fact about a
field stands in one place. A field made by `nanoseconds(...)` has a key that ends in `_ns` in card files,
and holds femtoseconds; the other keys are the names of their fields.
"""

from __future__ import annotations

import dataclasses
from enum import IntEnum
from typing import Any

from hwmodels.kinds import Choice, Kind, Member, Nanoseconds, Number, Numbers, Text

METADATA_KEY = "stallscope"


def number(*, unit: str, low: int, high: int, doc: str) -> Any:
    """Declare a whole number."""
    return dataclasses.field(metadata={METADATA_KEY: Number(unit, low, high, doc)})


def nanoseconds(*, low: int, high: int, doc: str) -> Any:
    """Declare a time: ns in card files, femtoseconds in the object."""
    return dataclasses.field(metadata={METADATA_KEY: Nanoseconds(low, high, doc)})


def numbers(*, unit: str, low: int, high: int, doc: str) -> Any:
    """Declare an ascending list of whole numbers."""
    return dataclasses.field(metadata={METADATA_KEY: Numbers(unit, low, high, doc)})


def choice(*choices: str, doc: str) -> Any:
    """Declare one word of a closed list."""
    return dataclasses.field(metadata={METADATA_KEY: Choice(choices, doc)})


def member(enumeration: type[IntEnum], *, doc: str) -> Any:
    """Declare a member of an enumeration."""
    return dataclasses.field(metadata={METADATA_KEY: Member(enumeration, doc)})


def text(*, doc: str, pattern: str, example: str) -> Any:
    """Declare a short text."""
    return dataclasses.field(metadata={METADATA_KEY: Text(doc, pattern, example)})


def kind_of(field: dataclasses.Field[Any]) -> Kind | None:
    """The declaration of a dataclass field, or None for a part or a derived field."""
    return field.metadata.get(METADATA_KEY)

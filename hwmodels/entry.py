"""One number of a card with its origin.

Every number that a card holds keeps who said it and how far to trust it, through `extends`, overrides and
scaling, so that `stallscope gpu show` can print the lot. It has no part in the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CONFIDENCES = ("high", "medium", "low", "recall", "user")


@dataclass(frozen=True, slots=True)
class Entry:
    """A value as the card file gives it (ns stay ns, lists are tuples), with unit, source and confidence."""

    value: Any
    unit: str
    source: str
    confidence: str

"""Which of our cards a board of a measurement is. Names are read as sources write them: `A100 SXM4 80GB`.

Every word of a rule must stand in the name, and none of those that it excludes; the first rule that fits
wins. A name that no rule knows, or a card that is not shipped, has no replay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from hwmodels import Gpu, cards


@dataclass(frozen=True, slots=True)
class Rule:
    """A card, the words that its name has, and those that it has not."""

    card: str
    words: tuple[str, ...]
    without: tuple[str, ...] = ()


RULES = (
    Rule("v100-pcie-16gb", ("v100", "pcie"), ("32gb",)),
    Rule("v100-sxm2-16gb", ("v100",), ("32gb", "pcie")),
    Rule("a100-pcie-40gb", ("a100", "pcie"), ("80gb",)),
    Rule("a100-sxm-80gb", ("a100", "80gb"), ("pcie",)),
    Rule("a100-sxm-40gb", ("a100",), ("pcie", "80gb")),
    Rule("gh200", ("gh200",)),
    Rule("h200-sxm", ("h200",)),
    Rule("h800-pcie", ("h800", "pcie")),
    Rule("h100-pcie", ("h100", "pcie")),
    Rule("h100-sxm", ("h100",), ("pcie", "nvl")),
    Rule("rtx-3090", ("3090",), ("ti",)),
    Rule("rtx-4090", ("4090",), ("d", "laptop")),
    Rule("rtx-a6000", ("a6000",)),
    Rule("a40", ("a40",)),
    Rule("l40", ("l40",)),
)
NOT_A_BOARD = ("cc",)
"""Rows of a compute capability are rules, not boards."""


@lru_cache(maxsize=1024)
def card_of(name: str) -> str | None:
    """The shipped card that a board is, None if it is none of ours."""
    folded = name.strip().casefold()
    known = cards()
    if folded in known:
        return folded
    words = set(re.findall(r"[a-z0-9]+", folded))
    if words & set(NOT_A_BOARD):
        return None
    for rule in RULES:
        if words.issuperset(rule.words) and not words.intersection(rule.without):
            return rule.card if rule.card in known else None
    return None


def die_of(gpu: Gpu) -> str:
    """The die of a card: in-SM cycles are the same on all boards that carry it."""
    return str(gpu.die)

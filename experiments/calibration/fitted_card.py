"""A calibrated card as a file: it extends the card that it was fitted from, and each number says what it was
fitted to. It appears whole or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from experiments.calibration.calibrate import Calibration
from simulator.statistics.files import write_text


def card_text(made: Calibration, sources: list[str]) -> str:
    """The YAML of the card; only parameters that moved stand in it."""
    document: dict[str, Any] = {"extends": made.card}
    source = f"fit to {', '.join(sources)}: {made.rows} rows, {made.mean_held_out_pct:.1f} % on rows left out"
    for one in made.parameters:
        if one.after == one.before:
            continue
        *parents, last = one.key.split(".")
        below = document
        for parent in parents:
            below = below.setdefault(parent, {})
        below[last] = {"value": one.after, "unit": one.unit, "source": source, "confidence": "medium"}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=200)


def write_card(path: Path, made: Calibration, sources: list[str]) -> None:
    """Write it."""
    write_text(path, card_text(made, sources))

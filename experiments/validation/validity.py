"""Whether a run lies inside what was compared with measurements: sentences for a run that does not.

The table of compared cards is written with the accuracy page. A slice of a card counts as the card. Which
operations were measured on which die stands on the page, not in every run.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hwmodels import Gpu

TABLE = Path(__file__).resolve().parents[1] / "data" / "validated.json"


@cache
def validated() -> dict[str, Any]:
    """The table; empty where it was never written."""
    try:
        found: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"cards": {}, "operations": {}}
    return found


def outside(gpu: Gpu) -> list[str]:
    """What of a card nobody compared with a measurement; empty where something was."""
    known = validated()["cards"]
    if not known or gpu.name in known:
        return []
    same = sorted(card for card in known if Gpu.from_card(card).die == gpu.die)
    like = f"; of its die was {', '.join(same)}" if same else ", nor of another card with its die"
    return [f"No measurement of {gpu.name} was compared with the model{like}: a prediction."]

"""What a page says of its demonstrations: what was simulated on less than the whole card, and what was not
simulated at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.comparison import counted


def sentences(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sentences by demonstration, of a document as `demonstrations` makes it."""
    windows = document["windows"]
    return {"windows": _of_windows(windows) if windows else [], "merging": _of_merging(document["others"])}


def _of_windows(made: Mapping[str, Any]) -> list[str]:
    said = []
    if made["share"]:
        said.append(
            f"Replayed on a slice in place of the whole card: {made['share']}. All numbers below are of it."
        )
        ends = "; ".join(
            f"{one['cycles']:,} SM cycles in {counted(one['launches'], 'launch')} ({one['variant']})"
            for one in made["recorded"]
        )
        if ends:
            said.append(f"On the whole card, by the results of this folder, the chain takes {ends}.")
    if made["left_out"]:
        said.append(
            "Not simulated within the time that the report was given: "
            f"{counted(made['left_out'], 'position')} of the window."
        )
    return said


def _of_merging(made: Mapping[str, Any]) -> list[str]:
    said = []
    if made["share"]:
        said.append(f"Every strategy was replayed on a slice in place of the whole card: {made['share']}.")
    if made["left_out"]:
        said.append(
            f"Not simulated within the time that the report was given: {', '.join(made['left_out'])}. "
            "Give more (`--max-seconds`), or name them under `fusion:` in the config."
        )
    return said

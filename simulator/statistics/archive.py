"""raw.json: every result of a folder as the engines counted it, from which all tables can be made again.

One file holds the results of all cards and variants. It names the counters, states and phases beside the
bare lists, so that a file of a version that counted other things is refused and never misread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hwmodels.errors import InputError
from simulator.statistics.facts import CardFacts, KernelHeader
from simulator.statistics.files import write_text
from simulator.statistics.phases import ACCESS_CLASSES, PHASE_NAMES, STATE_NAMES
from simulator.statistics.plain import from_plain, to_plain
from simulator.statistics.record import LIMITERS, RunRecord
from simulator.statistics.sample import Sampling
from simulator.statistics.schema import COUNTER_NAMES, DRAM_COUNTERS
from simulator.statistics.source import Source

FILE_NAME = "raw.json"
FORMAT = 4
MAX_BYTES = 2_000_000_000


@dataclass(slots=True)
class _Entry:
    variant: str
    card: CardFacts
    headers: tuple[KernelHeader, ...]
    record: RunRecord
    sampling: Sampling


def write(folder: Path, sources: Sequence[Source]) -> None:
    """Write raw.json into a folder that exists."""
    document = {
        "format": FORMAT,
        **_names(),
        "results": [
            to_plain(_Entry(one.variant, one.card, one.headers, one.record, one.sampling)) for one in sources
        ],
    }
    write_text(folder / FILE_NAME, json.dumps(document, separators=(",", ":")) + "\n")


def read(folder: Path) -> list[Source]:
    """All results of a folder; an InputError says what is wrong with the file."""
    path = folder / FILE_NAME
    place = str(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(place, f"more than {MAX_BYTES} bytes", "results of this program are smaller")
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            place, f"cannot be read ({error.strerror})", "give a folder that has results"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(place, "not valid JSON", "a file that was not edited") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(place, f"not a results file of format {FORMAT}", "replay the traces again")
    for name, words in _names().items():
        if document.get(name) != words:
            raise InputError(place, f"counts other {name} than this version", "replay the traces again")
    entries = from_plain(list[_Entry], document.get("results"), place)
    return [
        Source(entry.record, entry.headers, entry.card, entry.variant, entry.sampling) for entry in entries
    ]


def _names() -> dict[str, list[str]]:
    return {
        "counters": list(COUNTER_NAMES),
        "states": list(STATE_NAMES),
        "phases": list(PHASE_NAMES),
        "access_classes": [" ".join(pair) for pair in ACCESS_CLASSES],
        "dram_counters": [counter.name for counter in DRAM_COUNTERS],
        "limiters": list(LIMITERS),
    }

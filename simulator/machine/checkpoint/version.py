"""Which model made a state: the digest of all sources that decide how given traces replay on a given card."""

from __future__ import annotations

from functools import cache

from simulator.sources import digest_of

SOURCES = ("hwmodels", "simulator/machine", "simulator/statistics", "simulator/trace")


@cache
def model_digest() -> str:
    """The digest of these folders' sources; 24 hexadecimal digits."""
    return digest_of(f"{folder}/**/*.py" for folder in SOURCES)[:24]

"""Which model made a state: the digest of all sources that decide how given traces replay on a given card."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("hwmodels", "simulator/machine", "simulator/statistics", "simulator/trace")


@cache
def model_digest() -> str:
    """The digest of these folders' sources; 24 hexadecimal digits."""
    hashed = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:24]

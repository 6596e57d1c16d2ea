"""Which model made a state: the digest of all sources that decide what a replay does."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("hwmodels/**/*.py", "simulator/**/*.py")


@cache
def model_digest() -> str:
    """The digest of the sources of `hwmodels/` and `simulator/`; 24 hexadecimal digits."""
    hashed = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:24]

"""The digest of the program's own sources: it keeps a stored result from another version of the program."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def digest_of(patterns: Iterable[str], *facts: str) -> str:
    """SHA-256 over the facts and over names and contents of the files that the patterns find below the
    checkout.
    """
    hashed = hashlib.sha256("".join(f"{fact}\n" for fact in facts).encode())
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()

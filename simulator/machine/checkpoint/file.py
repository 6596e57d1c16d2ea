"""The file of a checkpoint: two lines of text (what it is, its seal), then a ZIP archive.

The archive holds `header.json` (engine, digests of model, card, traces and options, SM cycle) and the state:
`state.json` of the reference engine, or one `.npy` of each table of the compiled one. Nothing is unpacked
before the seal has been checked; a header that does not fit the replay is named.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hwmodels.errors import InputError
from simulator.machine.checkpoint.seal import fits, seal
from simulator.statistics.files import write_bytes

MAGIC = b"stallscope-checkpoint 1\n"
SEAL_DIGITS = 64
MOST_BYTES = 4 << 30
HEADER, STATE, TABLE = "header.json", "state.json", ".npy"
OTHER = {
    "engine": "the other engine",
    "model": "another version of the model",
    "card": "another card",
    "traces": "other traces",
    "options": "other options (launch, intervals, state of L2, kept requests or blocks)",
}
"""What a checkpoint belongs to that does not fit, by the header's name."""
REMEDY = "resume with the same model, card, traces and options, or start again without --resume"


@dataclass(slots=True)
class Checkpoint:
    """One replay in the middle."""

    header: dict[str, Any]
    """Digests and names of what it belongs to, and its SM cycle."""
    state: dict[str, Any] = field(default_factory=dict)
    """JSON-like part of the state."""
    tables: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Tables of integers."""


def pack(checkpoint: Checkpoint) -> bytes:
    """The bytes of a checkpoint, sealed."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(HEADER, json.dumps(checkpoint.header, indent=1, sort_keys=True))
        archive.writestr(STATE, json.dumps(checkpoint.state, separators=(",", ":")))
        for name, table in checkpoint.tables.items():
            with archive.open(name + TABLE, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(table), allow_pickle=False)
    body = content.getvalue()
    return MAGIC + seal(body).encode() + b"\n" + body


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint whole; an InputError where the place can't be written."""
    write_bytes(path, pack(checkpoint))


def read(path: Path) -> Checkpoint:
    """A checkpoint from its file; an InputError for anything but an unchanged one of this user."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "name a checkpoint file") from None
    return unpack(data, str(path))


def unpack(data: bytes, place: str) -> Checkpoint:
    """The checkpoint in some bytes."""
    if not data.startswith(MAGIC):
        raise InputError(place, "is no checkpoint", "name a file that --checkpoint has written")
    if len(data) > MOST_BYTES:
        raise InputError(place, f"is larger than {MOST_BYTES >> 30} GiB", "start again without --resume")
    start = len(MAGIC) + SEAL_DIGITS + 1
    given, body = data[len(MAGIC) : start].rstrip(b"\n"), data[start:]
    if not fits(body, given.decode("latin-1")):
        raise InputError(
            place, "was changed, cut short, or written by another user", "start again without --resume"
        )
    tables = {}
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        header, state = json.loads(archive.read(HEADER)), json.loads(archive.read(STATE))
        for name in archive.namelist():
            if name.endswith(TABLE):
                with archive.open(name) as member:
                    tables[name.removesuffix(TABLE)] = np.lib.format.read_array(member, allow_pickle=False)
    return Checkpoint(header, state, tables)


def check_fit(checkpoint: Checkpoint, expected: Mapping[str, Any], place: str) -> None:
    """An InputError that names the first thing in which a checkpoint differs from the replay."""
    for name, value in expected.items():
        if checkpoint.header.get(name) != value:
            raise InputError(place, f"belongs to {OTHER[name]}", REMEDY)

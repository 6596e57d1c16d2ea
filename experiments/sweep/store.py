"""Results by the digest of everything that decides them, and who is working on which: what makes a sweep
survive.

A replay is claimed before it begins and stored when it ends, each in one transaction, so a kill at any moment
costs the replays in flight and nothing else. Several sweeps may share a store: each leaves alone what another
has claimed while that one lives, which it shows by a beat. A stored text that no longer has its digest counts
as not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experiments.sweep.store_file import LOCK_SECONDS, faults, opened

DONE, FAILED, RUNNING, OPEN = "done", "failed", "running", "open"
MINE, ELSEWHERE = "mine", "elsewhere"
BEAT_SECONDS = 2.0
DEAD_SECONDS = 60.0
"""An owner on another machine that has shown no beat for so long is taken for dead."""
STALE_SECONDS = 3600.0
"""On this machine its process is asked for; after so long the number may be another one's."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store has for a key: a row, or the error of a replay that failed."""

    row: dict[str, Any] | None
    error: str
    fault: bool = False
    """The error is no matter of the input."""


class Store:
    """An open store. Use as a context; leaving it gives back what was claimed and not finished."""

    def __init__(self, path: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = path
        self._lock_seconds = lock_seconds
        self.connection = opened(path, lock_seconds)
        self.owner = uuid.uuid4().hex
        self._beat_s = -BEAT_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.connection.execute(
                "UPDATE results SET state = ?, owner = NULL WHERE owner = ? AND state = ?",
                (OPEN, self.owner, RUNNING),
            )
            self.connection.execute("DELETE FROM owners WHERE owner = ?", (self.owner,))
        except sqlite3.DatabaseError:
            # A claim that stays behind costs nothing: its owner shows no beat any more.
            pass
        finally:
            self.connection.close()

    def claim(self, key: str, about: str, *, again: bool = False) -> str:
        """Ask for the work on a key: MINE, ELSEWHERE while another sweep does it, or DONE or FAILED.

        With `again`, what had failed is MINE. `about` says what it is, for people who look into the file.
        """
        with self._transaction() as connection:
            self._beat(connection)
            found = connection.execute(
                "SELECT state, owner, payload, digest FROM results WHERE key = ?", (key,)
            ).fetchone()
            if found is not None:
                state, owner, payload, digest = found
                sound = state in {DONE, FAILED} and _digest(payload) == digest
                if sound and not (again and state == FAILED):
                    return str(state)
                if state == RUNNING and owner != self.owner and self._alive(connection, owner):
                    return ELSEWHERE
            connection.execute(
                """INSERT INTO results (key, state, owner, attempts, about) VALUES (?, ?, ?, 1, ?)
                   ON CONFLICT (key) DO UPDATE SET state = excluded.state, owner = excluded.owner,
                   attempts = attempts + 1, payload = NULL, digest = NULL""",
                (key, RUNNING, self.owner, about),
            )
            return MINE

    def put(
        self, key: str, row: dict[str, Any] | None, error: str, seconds: float, *, fault: bool = False
    ) -> None:
        """Store what came of a replay: its row, or its error."""
        stored = {"row": row, "error": error, "fault": fault}
        payload = json.dumps(stored, separators=(",", ":"), allow_nan=False)
        with self._transaction() as connection:
            self._beat(connection)
            connection.execute(
                """UPDATE results SET state = ?, owner = NULL, payload = ?, digest = ?, seconds = ?
                   WHERE key = ? AND state != ?""",
                (FAILED if row is None else DONE, payload, _digest(payload), seconds, key, DONE),
            )

    def beat(self) -> None:
        """Show that this sweep lives; does nothing when it did so a moment ago."""
        if time.monotonic() - self._beat_s >= BEAT_SECONDS:
            with self._transaction() as connection:
                self._beat(connection)

    def get(self, keys: Iterable[str]) -> dict[str, Stored]:
        """What is there for some keys; a key without a finished replay is left out."""
        found = {}
        with faults(self.path, self._lock_seconds):
            for key in keys:
                row = self.connection.execute(
                    "SELECT payload, digest FROM results WHERE key = ? AND state IN (?, ?)",
                    (key, DONE, FAILED),
                ).fetchone()
                if row is not None and _digest(row[0]) == row[1]:
                    found[key] = Stored(**json.loads(row[0]))
        return found

    def attempts(self) -> dict[str, int]:
        """How often each replay was begun, over all sweeps."""
        with faults(self.path, self._lock_seconds):
            return dict(self.connection.execute("SELECT key, attempts FROM results").fetchall())

    def _beat(self, connection: sqlite3.Connection) -> None:
        if time.monotonic() - self._beat_s < BEAT_SECONDS:
            return
        connection.execute(
            "INSERT OR REPLACE INTO owners (owner, host, pid, beat) VALUES (?, ?, ?, ?)",
            (self.owner, socket.gethostname(), os.getpid(), time.time()),
        )
        self._beat_s = time.monotonic()

    def _alive(self, connection: sqlite3.Connection, owner: str) -> bool:
        found = connection.execute("SELECT host, pid, beat FROM owners WHERE owner = ?", (owner,)).fetchone()
        if found is None:
            return False
        host, pid, beat = found
        silent_s: float = abs(time.time() - beat)
        if host == socket.gethostname() and os.name == "posix":
            return silent_s <= STALE_SECONDS and _process_lives(pid)
        return silent_s <= DEAD_SECONDS

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else writes meanwhile."""
        with faults(self.path, self._lock_seconds):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk has rolled it back already.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _process_lives(pid: int) -> bool:
    """Whether a process of this machine exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _digest(payload: str | None) -> str:
    return hashlib.sha256((payload or "").encode()).hexdigest()

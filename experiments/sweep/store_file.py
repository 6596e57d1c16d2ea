"""The file of a sweep's store: SQLite, marked as ours, checked when it is opened, with one clear error for
each way in which a file or its disk can fail.

What is wrong with a file is said before anything is written to it: not a database, somebody else's database,
one of a later version of this program, a damaged one. While it is in use, a lock that somebody holds too
long, a full disk and a file that can't be written each end the command in one line; what was stored before
stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hwmodels.errors import InputError
from simulator.statistics.files import make_folder

APPLICATION = 0x53534357
VERSION = 1
LOCK_SECONDS = 30.0
SCHEMA = (
    """CREATE TABLE owners (
        owner TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, beat REAL NOT NULL)""",
    """CREATE TABLE results (
        key TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT, attempts INTEGER NOT NULL,
        payload TEXT, digest TEXT, seconds REAL, about TEXT NOT NULL)""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def opened(path: Path, lock_seconds: float = LOCK_SECONDS) -> sqlite3.Connection:
    """A connection to the store, made anew where there is none; an InputError says what is wrong with the
    file.
    """
    if path.is_dir():
        raise InputError(str(path), "is a folder", "name a file for the store")
    make_folder(path.parent)
    with faults(path, lock_seconds):
        connection = sqlite3.connect(path, timeout=lock_seconds, isolation_level=None)
        try:
            _judge(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _judge(connection: sqlite3.Connection, path: Path) -> None:
    # The lock comes first: of two sweeps that make the store at once, one makes it and the other finds it.
    connection.execute("BEGIN IMMEDIATE")
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION:
            if tables or application or version:
                raise InputError(
                    str(path), "is another program's database", "name another file for the store"
                )
            for statement in SCHEMA:
                connection.execute(statement)
        elif version > VERSION:
            raise InputError(
                str(path),
                f"a store of format {version}, and this version reads up to {VERSION}",
                "use the newer version, or name another folder",
            )
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def faults(path: Path, lock_seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Turn what SQLite says about a file into one line for a person."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _told(path, error, lock_seconds) from None
    except UnicodeError:
        # A table's own description holds bytes that are no text.
        raise _told(path, sqlite3.DatabaseError("names that are no text"), lock_seconds) from None


def _told(path: Path, error: sqlite3.DatabaseError, lock_seconds: float) -> InputError:
    kept = "what was stored is kept, and the same command goes on from there"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return InputError(
            str(path), f"locked by another program for {lock_seconds:g} s", f"end that one; {kept}"
        )
    if code == sqlite3.SQLITE_FULL:
        return InputError(str(path), "the disk is full", f"make room; {kept}")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return InputError(str(path), f"cannot be written ({error})", "choose a folder that can be written")
    if code == sqlite3.SQLITE_IOERR:
        return InputError(
            str(path), f"reading or writing failed ({error})", f"mend the disk, or make room; {kept}"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(
            str(path), "is no store of a sweep (not an SQLite file)", "name another folder or file"
        )
    return InputError(
        str(path), f"is damaged ({error})", "put a copy back, or delete it and run the sweep again"
    )

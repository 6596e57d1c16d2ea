"""The seal of a checkpoint: only a user's own checkpoints are resumed.

A checkpoint holds the whole state of an engine, places in tables among it, and no check could tell a hostile
one from a true one. So it carries a keyed digest (HMAC-SHA-256) over all its bytes, and the key lies in the
user's data folder, readable by the user alone. What was changed, cut short, or made by somebody else is
refused before anything of it is read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sys
from pathlib import Path

from hwmodels.errors import InputError

KEY_BYTES = 32


def key_path() -> Path:
    """Where the user's key lies."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share"))
    return base / "stallscope" / "checkpoint.key"


def user_key() -> bytes:
    """The user's key, made on first use; safe when several processes make it at once."""
    path = key_path()
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            own = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
            descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            try:
                os.link(own, path)  # fails where another process was first, whose key then holds
            except FileExistsError:
                pass
            finally:
                own.unlink()
        key = path.read_bytes()
    except OSError as error:
        raise InputError(
            str(error.filename or path),
            f"no place for the key of checkpoints ({error.strerror})",
            "make it writable",
        ) from None
    if len(key) != KEY_BYTES:
        raise InputError(
            str(path), f"holds {len(key)} bytes, not {KEY_BYTES}", "delete it; older checkpoints end"
        )
    return key


def seal(content: bytes) -> str:
    """The keyed digest of a content, 64 hexadecimal digits."""
    return hmac.new(user_key(), content, hashlib.sha256).hexdigest()


def fits(content: bytes, given: str) -> bool:
    """Whether a seal is that of a content."""
    return hmac.compare_digest(seal(content).encode(), given.encode())

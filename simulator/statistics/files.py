"""Writing files so that they appear whole or not at all.

A file is written under a temporary name in its own folder, flushed to the disk, and renamed, which POSIX
and Windows do in one step. An interrupted run leaves the earlier file, or none, and never half of one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from hwmodels.errors import InputError


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole; its folder must exist. An InputError names a path that can't be written."""
    write_with(path, lambda file: file.write(data))


def write_text(path: Path, text: str) -> None:
    """The same for UTF-8 text, with the line ends that it has."""
    write_bytes(path, text.encode())


def write_with(path: Path, writer: Callable[[BinaryIO], object]) -> None:
    """Let `writer` fill an open binary file, which takes its name only once it is complete."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _refused(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            writer(file)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; results get the permissions that any new file has.
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _refused(path, error) from None
        raise


def make_folder(folder: Path) -> None:
    """Create a folder and those above it; one that exists stays."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(folder, error) from None


def _refused(path: Path, error: OSError) -> InputError:
    return InputError(str(path), f"cannot be written ({error.strerror or error})", "choose a writable folder")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

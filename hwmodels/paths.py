"""Whether a file is there, by a name that may come from a stranger."""

from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether the path is a file; a name that none can have (too long, with a zero byte in it) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Whether anything is there, in the same way."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False

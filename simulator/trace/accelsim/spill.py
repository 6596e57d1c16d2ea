"""What a traced run does not keep in memory: one nameless temporary file for all its kernels.

Pages stay in memory until those of all kernels together pass 32 MiB, then all are written. The file is gone
when the run is; a child process that was forked may read it too, since reads don't move its position.
"""

import os
import tempfile
import weakref
from typing import Any, Protocol

MEMORY_BYTES = 32 << 20


class Holder(Protocol):
    """Something that has bytes in memory which it can write."""

    def write_out(self) -> None:
        """Write them."""


class Spill:
    """Appends to the file and reads from it; counts what its holders have in memory."""

    def __init__(self) -> None:
        self.file: Any = None
        self.end = 0
        self.held_bytes = 0
        self.holders: weakref.WeakSet[Any] = weakref.WeakSet()

    def hold(self, holder: Holder, size: int) -> None:
        """Note that a holder has more in memory; too much in all, and every holder writes."""
        self.holders.add(holder)
        self.held_bytes += size
        if self.held_bytes > MEMORY_BYTES:
            for one in list(self.holders):
                one.write_out()
            self.held_bytes = 0

    def append(self, data: bytes) -> int:
        """Write at the end; gives the offset."""
        if self.file is None:
            self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (lives as long as the run)
        start = self.end
        view = memoryview(data)
        while view:
            written = os.pwrite(self.file.fileno(), view, self.end)
            self.end += written
            view = view[written:]
        return start

    def read(self, start: int, size: int) -> bytes:
        """Bytes from an offset."""
        parts = []
        while size:
            part = os.pread(self.file.fileno(), size, start)
            parts.append(part)
            start, size = start + len(part), size - len(part)
        return b"".join(parts)

"""The text of a profile in pieces: unpacks gzip, counts what comes out, and decodes UTF-8.

Nothing is held beyond one piece, and a file that unpacks to far more than itself is refused while it is being
unpacked. The form is told from the first bytes, not from the name.
"""

import codecs
import gzip
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from experiments.profiles.limits import ProfileLimits
from hwmodels.errors import InputError

PIECE_BYTES = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"


class TextStream:
    """`read()` gives the next piece of text, "" at the end. A context manager that closes the file."""

    def __init__(self, path: Path, limits: ProfileLimits) -> None:
        self.name = str(path)
        self.limits = limits
        self.total_bytes = 0
        if path.is_dir():
            raise InputError(self.name, "is a folder", "give a profile")
        try:
            self.raw = path.open("rb")
            self.packed = self.raw.read(2) == GZIP_MAGIC
            self.raw.seek(0)
        except OSError as error:
            raise InputError(
                self.name, f"cannot be read ({error.strerror or error})", "give a profile"
            ) from None
        self.source = cast("IO[bytes]", gzip.GzipFile(fileobj=self.raw)) if self.packed else self.raw
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.ended = False

    def __enter__(self) -> "TextStream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.raw.close()

    def read(self) -> str:
        """The next piece; an InputError where the file is broken or too large."""
        while not self.ended:
            try:
                piece = self.source.read(PIECE_BYTES)
                self.ended = not piece
                self._count(len(piece))
                text = self.decoder.decode(piece, final=self.ended)
            except UnicodeDecodeError as error:
                place = f"{self.name}:byte {self.total_bytes - len(error.object) + error.start}"
                raise InputError(place, "not UTF-8", "give the file as the profiler wrote it") from None
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                place = f"{self.name}:byte {self.total_bytes} unpacked"
                raise InputError(place, f"broken gzip ({error})", "copy the file again") from None
            if text:
                return text
        return ""

    def _count(self, size: int) -> None:
        self.total_bytes += size
        limits = self.limits
        if self.total_bytes > limits.total_bytes:
            raise InputError(
                self.name, f"more than {limits.total_bytes} bytes of text", "profile fewer steps"
            )
        if (
            self.packed
            and self.total_bytes > limits.packed_ratio_from
            and self.total_bytes > limits.packed_ratio * self.raw.tell()
        ):
            problem = f"unpacks to more than {limits.packed_ratio} times its size"
            raise InputError(self.name, problem, "unpack it yourself if you trust it")

"""The lines of a trace file, plain or packed with xz, read once from front to back in bounded memory.

Unpacking refuses a stream that asks for more working memory than `xz -9` ever does. A line longer than any
that a tracer writes is refused rather than collected. Lines keep their newline and stay bytes, which is what
makes reading them fast.
"""

import io
import lzma
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from hwmodels.errors import InputError

MAX_LINE_BYTES = 1 << 14
MAX_BLANK_LINES = 1 << 16
XZ_MEMORY_BYTES = 128 << 20
CHUNK_BYTES = 1 << 16


class Unpacked(io.RawIOBase):
    """The content of an .xz file as a raw stream."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__()
        self.file = file
        self.unpacker = self._fresh()

    @staticmethod
    def _fresh() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer; several streams one after the other are one content, as for xz itself."""
        while True:
            if self.unpacker.eof:
                rest = (self.unpacker.unused_data or self.file.read(CHUNK_BYTES)).lstrip(b"\0")
                if not rest:
                    return 0
                self.unpacker = self._fresh()
            else:
                rest = self.file.read(CHUNK_BYTES) if self.unpacker.needs_input else b""
                if self.unpacker.needs_input and not rest:
                    raise lzma.LZMAError("it ends in the middle")
            data = self.unpacker.decompress(rest, max_length=len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


class Source:
    """An open trace file. `number` is the line that was read last, from 1."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            self.file = path.open("rb")
        except OSError as error:
            raise InputError(
                str(path), f"can't be read ({error.strerror})", "give a file that exists"
            ) from None
        packed = path.suffix == ".xz"
        self.stream = io.BufferedReader(Unpacked(self.file), CHUNK_BYTES) if packed else self.file
        self.read_line: Callable[[int], bytes] = self.stream.readline
        self.held: bytes | None = None

    def __enter__(self) -> "Source":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.close()
        self.file.close()

    def refuse(self, problem: str, remedy: str, *, number: int | None = None) -> NoReturn:
        """Raise the error of one line, at the line that was read last or another one."""
        raise InputError(f"{self.path}:{self.number if number is None else number}", problem, remedy)

    def line(self) -> bytes:
        """The next line with its newline, empty at the end of the file."""
        if self.held is not None:
            line, self.held = self.held, None
            return line
        try:
            line = self.read_line(MAX_LINE_BYTES)
        except (lzma.LZMAError, EOFError) as error:
            self.refuse(f"the packed data are damaged ({error})", "copy or pack the file again")
        except OSError as error:
            self.refuse(f"can't be read ({error.strerror})", "give a readable file")
        self.number += 1
        if len(line) >= MAX_LINE_BYTES:
            self.refuse(f"a line of {MAX_LINE_BYTES} bytes or more", "give the text that a tracer wrote")
        return line

    def content(self) -> bytes:
        """The next line that is not blank, stripped; empty at the end of the file."""
        blank = 0
        while (line := self.line()) and not (text := line.strip()):
            blank += 1
            if blank >= MAX_BLANK_LINES:
                self.refuse(f"{blank} blank lines in a row", "give the text that a tracer wrote")
        return text if line else b""

    def hold(self, line: bytes) -> None:
        """Give a line back: `line` returns it next."""
        self.held = line


def shown(text: bytes, most: int = 60) -> str:
    """A piece of a file in an error message: printable, and not long."""
    words = text.decode("ascii", "backslashreplace")
    words = "".join(letter if letter.isprintable() else "?" for letter in words)
    return repr(words if len(words) <= most else words[: most - 3] + "...")

"""The header of a kernel's trace: `-key = value` lines up to the first line that begins with `#`.

The peer leaves what is missing uninitialised; here each key that decides a result is mandatory, every value
is judged against the limits of a launch, and an unknown or repeated key is refused. Not read: NVBit's
version, which changes nothing.
"""

import re
from dataclasses import dataclass

from hwmodels.errors import unknown
from simulator.trace import limits
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.accelsim.tables import Architecture, architecture_of

NAME, ID, GRID, BLOCK = "kernel name", "kernel id", "grid dim", "block dim"
SHARED, REGISTERS, BINARY, STREAM = "shmem", "nregs", "binary version", "cuda stream id"
SHARED_BASE, LOCAL_BASE = "shmem base_addr", "local mem base_addr"
NVBIT, TRACER, LINE_INFO = "nvbit version", "accelsim tracer version", "enable lineinfo"
MANDATORY = (NAME, GRID, BLOCK, SHARED, REGISTERS, BINARY, TRACER)
OPTIONAL = {ID: "0", STREAM: "0", SHARED_BASE: "0x0", LOCAL_BASE: "0x0", NVBIT: "", LINE_INFO: "0"}
KEYS = (*MANDATORY, *OPTIONAL)
TRACER_VERSIONS = range(1, 6)
WITHOUT_PLACES = 3  # from this tracer version on, lines don't repeat block and warp
WITH_IMMEDIATE = 5  # from this one on, lines end with an immediate
EXTENT = re.compile(r"\(\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)")
DECIMAL = re.compile(r"\d{1,20}")
HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")


@dataclass(frozen=True, slots=True)
class KernelHeader:
    """One launch, as the tracer saw it. Addresses and sizes in bytes; a base of 0 means unknown."""

    name: str
    number: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    registers: int
    binary_version: int
    stream: int
    shared_base: int
    local_base: int
    tracer_version: int
    line_info: bool
    architecture: Architecture


def read_header(source: Source) -> KernelHeader:
    """Read the header and the comment that ends it."""
    found: dict[str, tuple[str, int]] = {}
    while (text := source.content())[:1] != b"#":
        if not text:
            source.refuse("the file ends in the header", "give a whole trace, with blocks after the header")
        if text[:1] != b"-" or b"=" not in text:
            source.refuse(f"{shown(text)} is no header line", "write -key = value, or # to end the header")
        key, _, value = text[1:].decode("utf-8", "replace").partition("=")
        key = key.strip()
        if key not in KEYS:
            raise unknown(f"{source.path}:{source.number}", "header key", key[:80], KEYS)
        if key in found:
            source.refuse(
                f"-{key} stands here again, after line {found[key][1]}", "give each header key once"
            )
        found[key] = (value.strip(), source.number)
    if text == b"#BEGIN_TB":
        source.hold(text + b"\n")
    for key in MANDATORY:
        if key not in found:
            source.refuse(f"the header has no -{key}", f"add the line -{key} = ... above")
    return Fields(source, found).header()


class Fields:
    """Turns the values of the keys into numbers, with the line of each for errors."""

    def __init__(self, source: Source, found: dict[str, tuple[str, int]]) -> None:
        self.source = source
        self.found = found

    def text(self, key: str) -> tuple[str, int]:
        """Value and line of a key."""
        return self.found.get(key, (OPTIONAL.get(key, ""), self.source.number))

    def number(self, key: str, low: int, high: int, *, hexadecimal: bool = False) -> int:
        """A value within low to high."""
        text, line = self.text(key)
        pattern, base = (HEXADECIMAL, 16) if hexadecimal else (DECIMAL, 10)
        if not pattern.fullmatch(text):
            kind = "hexadecimal" if hexadecimal else "decimal"
            self.source.refuse(
                f"-{key} = {text[:40]!r} is no {kind} number", f"give {low} to {high}", number=line
            )
        value = int(text, base)
        if not low <= value <= high:
            self.source.refuse(f"-{key} = {value} is out of range", f"give {low} to {high}", number=line)
        return value

    def extent(self, key: str, most: tuple[int, int, int]) -> tuple[int, int, int]:
        """Three sizes."""
        text, line = self.text(key)
        match = EXTENT.fullmatch(text)
        if not match:
            self.source.refuse(f"-{key} = {text[:40]!r} is no size", "write (x,y,z)", number=line)
        x, y, z = (int(part) for part in match.groups())
        if not all(1 <= size <= limit for size, limit in zip((x, y, z), most, strict=True)):
            self.source.refuse(
                f"-{key} = ({x},{y},{z}) is out of range", f"three sizes from 1 to {most}", number=line
            )
        return x, y, z

    def header(self) -> KernelHeader:
        name, line = self.text(NAME)
        if not 1 <= len(name) <= limits.MAX_NAME:
            self.source.refuse(
                f"a kernel name of {len(name)} characters", f"give 1 to {limits.MAX_NAME}", number=line
            )
        block = self.extent(BLOCK, limits.MAX_BLOCK)
        threads = block[0] * block[1] * block[2]
        if threads > limits.MAX_THREADS_PER_BLOCK:
            self.source.refuse(
                f"{threads} threads a block",
                f"at most {limits.MAX_THREADS_PER_BLOCK}",
                number=self.text(BLOCK)[1],
            )
        version = self.number(BINARY, 0, 10_000)
        return KernelHeader(
            name=name,
            number=self.number(ID, 0, 1 << 63),
            grid=self.extent(GRID, limits.MAX_GRID),
            block=block,
            shared_bytes=self.number(SHARED, 0, limits.MAX_SHARED_BYTES_PER_BLOCK),
            registers=self.number(REGISTERS, 1, limits.MAX_REGISTERS_PER_THREAD),
            binary_version=version,
            stream=self.number(STREAM, 0, (1 << 64) - 1),
            shared_base=self.number(SHARED_BASE, 0, (1 << 49) - 1, hexadecimal=True),
            local_base=self.number(LOCAL_BASE, 0, (1 << 49) - 1, hexadecimal=True),
            tracer_version=self.number(TRACER, TRACER_VERSIONS[0], TRACER_VERSIONS[-1]),
            line_info=bool(self.number(LINE_INFO, 0, 1)),
            architecture=architecture_of(version, f"{self.source.path}:{self.text(BINARY)[1]}"),
        )

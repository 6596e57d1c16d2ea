"""The list of a traced run, `kernelslist.g`: kernels and host-to-device copies in program order.

Every line must be understood: the peer skips what it does not know without a word. Copies from the device
are no lines of this format, and file names stay within the list's own folder.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from hwmodels.errors import InputError
from hwmodels.paths import is_file
from simulator.trace.accelsim.source import Source, shown
from simulator.trace.schema import ADDRESS_LIMIT

KERNEL = re.compile(r"kernel[A-Za-z0-9_.\-]*\.traceg(?:\.xz)?")
COPY = re.compile(r"MemcpyHtoD,(0x[0-9a-fA-F]{1,16}),(\d{1,19})")
MAX_COMMANDS = 1 << 20


@dataclass(frozen=True, slots=True)
class Copy:
    """A host-to-device copy before the kernel number `position`; address and size in bytes."""

    position: int
    address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KernelsList:
    """What a list names: trace files in order, and copies."""

    kernels: tuple[Path, ...]
    copies: tuple[Copy, ...]


def read_list(path: Path) -> KernelsList:
    """Read the list; a kernel's file must exist."""
    kernels: list[Path] = []
    copies: list[Copy] = []
    with Source(path) as source:
        while text := source.content():
            words = text.decode("ascii", "backslashreplace")
            copy = COPY.fullmatch(words)
            if KERNEL.fullmatch(words):
                file = path.parent / words
                if not is_file(file):
                    source.refuse(f"{shown(text)} is not beside the list", "add the file or remove the line")
                kernels.append(file)
            elif copy:
                address, size = int(copy[1], 16), int(copy[2])
                if address + size > ADDRESS_LIMIT:
                    source.refuse(
                        f"a copy of {size} bytes to {address:#x}", "keep it within 48 bits of address"
                    )
                copies.append(Copy(len(kernels), address, size))
            elif words.startswith("kernel"):
                source.refuse(f"{shown(text)} is no trace that can be read", wanted(words))
            else:
                source.refuse(
                    f"{shown(text)} is no command of a kernel list",
                    "write MemcpyHtoD,0x<address>,<bytes> or kernel-<N>.traceg",
                )
            if len(kernels) + len(copies) > MAX_COMMANDS:
                source.refuse(f"more than {MAX_COMMANDS} lines", "split the list")
    if not kernels:
        raise InputError(str(path), "the list names no kernel", "add a line such as kernel-1.traceg")
    return KernelsList(tuple(kernels), tuple(copies))


def wanted(name: str) -> str:
    """What to do about a file of another kind."""
    if name.endswith((".trace", ".trace.xz")):
        return "run the tracer's post-processing, which groups it by block and writes .traceg"
    if name.endswith(".tracez"):
        return "turn it into .traceg with the tracer's disassembler"
    return "give a file that ends in .traceg or .traceg.xz"

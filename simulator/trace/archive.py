"""The file of one or several kernel traces, `.trace.npz`: a zip of `header.json` and NumPy arrays, never a
pickle.

The same traces always give the same bytes: fixed order, fixed timestamps, no platform fields. A reader
trusts nothing: names, kinds and sizes of all members are judged before anything is unpacked, every member
is unpacked no further than it declared, and the traces themselves go through `check`.
"""

import os
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from hwmodels.errors import InputError
from simulator.trace.archive_decode import decode_header, header_members
from simulator.trace.archive_encode import encode_header
from simulator.trace.archive_members import (
    PACKED,
    array_member,
    is_small,
    pack,
    page_members,
    read_array,
    table_members,
)
from simulator.trace.check import check
from simulator.trace.schema import KernelTrace

HEADER = "header.json"
SUFFIX = ".trace.npz"
MAX_FILE_BYTES = 4 << 30
MAX_UNPACKED_BYTES = 4 << 30
MAX_HEADER_BYTES = 64 << 20
MAX_MEMBERS = 200_000
MAX_RATIO = 1100  # deflate packs no tighter than about 1,030 to 1
MEMBER = re.compile(r"kernel\d{1,6}/(page\d{1,6}/)?[a-z_]{1,32}\.npy")
EPOCH = (1980, 1, 1, 0, 0, 0)
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
    KeyError,
    IndexError,
)


def save(traces: KernelTrace | Sequence[KernelTrace], path: str | Path, *, packed: bool = False) -> Path:
    """Write traces to a file; it appears whole or not at all. Returns its path.

    `packed` puts the arrays of each small recording into one member: a fraction of the size, but less easily
    read with NumPy alone.
    """
    path = Path(path)
    kernels = [traces] if isinstance(traces, KernelTrace) else list(traces)
    if not kernels:
        raise InputError(str(path), "no kernel to write", "give at least one trace")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(kernels, file, packed=packed)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write(kernels: Sequence[KernelTrace], file: IO[bytes], *, packed: bool = False) -> None:
    """Write the archive to an open binary file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        add(archive, HEADER, encode_header(kernels, packed=packed))
        for number, trace in enumerate(kernels):
            recording = trace.recording
            if recording is None:
                continue
            if packed and is_small(recording):
                add(archive, f"kernel{number}/{PACKED}.npy", array_member(pack(recording)))
                continue
            for name, array in table_members(recording).items():
                add(archive, f"kernel{number}/{name}.npy", array_member(array))
            for index, page in enumerate(recording.pages):
                for name, array in page_members(page).items():
                    add(archive, f"kernel{number}/page{index}/{name}.npy", array_member(array))


def add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a member whose bytes in the archive depend on its name and data only."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data, compresslevel=6)


def load(
    path: str | Path, *, checked: bool = True, unpacked_limit_bytes: int = MAX_UNPACKED_BYTES
) -> list[KernelTrace]:
    """The traces of a file, through `check` unless told otherwise.

    Raises an InputError that names file and place.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(str(path), "is no file", f"give a {SUFFIX} file")
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", f"give a {SUFFIX} file") from None
    if size > MAX_FILE_BYTES:
        raise InputError(str(path), f"{size} bytes", f"a trace file has at most {MAX_FILE_BYTES}")
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            traces = read(archive, unpacked_limit_bytes)
        for trace in traces if checked else ():
            check(trace)
    except InputError as error:
        raise InputError(f"{path}:{error.place}", error.problem, error.remedy) from None
    except (*DAMAGE, RecursionError, MemoryError) as error:
        words = " ".join(str(error)[:100].split()) or type(error).__name__
        raise InputError(
            str(path), f"is damaged or no trace file ({words})", "write or download it again"
        ) from None
    return traces


def read(archive: zipfile.ZipFile, limit_bytes: int) -> list[KernelTrace]:
    """The traces of an open archive, not yet checked."""
    entries = judged_entries(archive, limit_bytes)
    kernels = decode_header(unpack(archive, entries[HEADER]))
    expected = {HEADER} | header_members(kernels)
    if expected != set(entries):
        odd = sorted(expected ^ set(entries))[0]
        raise InputError(
            odd,
            "is missing" if odd in expected else "is not a member that the header speaks of",
            "write the file again",
        )

    def array(name: str, kind: str) -> NDArray[Any]:
        return read_array(name, unpack(archive, entries[name]), kind)

    return [kernel.finish(array) for kernel in kernels]


def judged_entries(archive: zipfile.ZipFile, limit_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """All members by name, refused by their directory entries alone where anything is amiss."""
    entries: dict[str, zipfile.ZipInfo] = {}
    total = 0
    if len(archive.infolist()) > MAX_MEMBERS:
        raise InputError("archive", f"{len(archive.infolist())} members", f"at most {MAX_MEMBERS}")
    for entry in archive.infolist():
        name = entry.filename
        place = repr(name)[1:-1][:80]
        if name != HEADER and not MEMBER.fullmatch(name):
            raise InputError(
                place, "is not a member of a trace file", f"members are {HEADER} and arrays of kernels"
            )
        if name in entries:
            raise InputError(place, "is in the archive twice", "write the file again")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in {0, stat.S_IFREG} or entry.is_dir():
            raise InputError(place, "is not a plain file", "links and folders don't belong into a trace")
        if entry.flag_bits & 1 or entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise InputError(
                place, "is encrypted or packed in another way than deflate", "write the file again"
            )
        if name == HEADER and entry.file_size > MAX_HEADER_BYTES:
            raise InputError(place, f"{entry.file_size} bytes", f"a header has at most {MAX_HEADER_BYTES}")
        total += entry.file_size
        if entry.file_size > MAX_RATIO * (entry.compress_size + 1) or total > limit_bytes:
            raise InputError(
                place, f"unpacks to {entry.file_size} bytes", f"at most {limit_bytes} in all, honestly packed"
            )
        entries[name] = entry
    if HEADER not in entries:
        raise InputError(HEADER, "is missing", f"give a {SUFFIX} file that stallscope wrote")
    return entries


def unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, exactly as many as declared; the checksum is compared on the way."""
    with archive.open(entry) as member:
        data = member.read(entry.file_size)
        if len(data) != entry.file_size or member.read(1):
            raise InputError(entry.filename, "is longer or shorter than it says", "write the file again")
    return data

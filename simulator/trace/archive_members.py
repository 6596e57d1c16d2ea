"""The arrays of a recording as members of a trace file: which there are, of which types, and their bytes in
NumPy's format.

NumPy's own reader is used for the small text header only, with a limit, and the data are taken as plain
numbers: no object array, no pickle, no shape that does not fill the member exactly.
"""

import io
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hwmodels.errors import InputError
from simulator.trace.recording import Recording, RecordingPage
from simulator.trace.schema import LANES

TABLES: dict[str, tuple[str, ...]] = {
    "variant_statics": ("<i4",),
    "variant_masks": ("<u4",),
    "strides": ("<i8",),
    "deltas": ("<i4",),
    "lists": ("<i8",),
}
PAGES: dict[str, tuple[str, ...]] = {
    "blocks": ("<i8",),
    "instruction_starts": ("<i8",),
    "variants": ("<u2", "<u4"),
    "access_starts": ("<i8",),
    "bases": ("<i8",),
    "pattern_ids": ("<u2", "<u4"),
}
PACKED = "packed"
PACKED_LIMIT_BYTES = 1 << 16
ROWS_OF_LANES = ("deltas", "lists")
MAX_NPY_HEADER = 4096


def table_members(recording: Recording) -> dict[str, NDArray[Any]]:
    """The tables of a recording by member name."""
    return {name: getattr(recording, name) for name in TABLES}


def page_members(page: RecordingPage) -> dict[str, NDArray[Any]]:
    """The arrays of a page by member name."""
    return {name: getattr(page, name) for name in PAGES}


def arrays_of(recording: Recording) -> dict[str, NDArray[Any]]:
    """The tables and the only page of a small recording."""
    return {**table_members(recording), **page_members(recording.pages[0])}


def is_small(recording: Recording) -> bool:
    """Whether one member for all arrays is worth it: in a zip file a member costs more than a short array."""
    return len(recording.pages) == 1 and recording.bytes_in_memory() <= PACKED_LIMIT_BYTES


def pack(recording: Recording) -> NDArray[Any]:
    """All arrays of a small recording as bytes, one after the other."""
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays_of(recording).values())
    return np.frombuffer(data, dtype="|u1")


def layout(recording: Recording) -> list[list[Any]]:
    """[type, rows] of each array that `pack` puts together."""
    return [[array.dtype.str, len(array)] for array in arrays_of(recording).values()]


def unpacked(place: str, data: NDArray[Any], parts: list[tuple[str, int]]) -> dict[str, NDArray[Any]]:
    """The arrays of a packed recording by name, each of an allowed type, filling the bytes exactly."""
    kinds = {**TABLES, **PAGES}
    start = 0
    arrays: dict[str, NDArray[Any]] = {}
    for (name, allowed), (dtype, rows) in zip(kinds.items(), parts, strict=True):
        if dtype not in allowed:
            raise InputError(place, f"{name} of type {dtype[:8]}", f"must be {' or '.join(allowed)}")
        shape = (rows, LANES) if name in ROWS_OF_LANES else (rows,)
        end = start + np.dtype(dtype).itemsize * rows * (LANES if name in ROWS_OF_LANES else 1)
        if end > len(data):
            raise InputError(place, f"{name} is cut short", "write the file again")
        arrays[name] = np.frombuffer(data[start:end].tobytes(), dtype=dtype).reshape(shape)
        start = end
    if start != len(data):
        raise InputError(place, f"{len(data) - start} bytes are left over", "write the file again")
    return arrays


def array_member(array: NDArray[Any]) -> bytes:
    """An array in NumPy's file format, version 1.0."""
    buffer = io.BytesIO()
    npy.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def read_array(member: str, data: bytes, kind: str) -> NDArray[Any]:
    """The array in a member; `kind` is its key in TABLES or PAGES."""
    buffer = io.BytesIO(data)
    try:
        version = npy.read_magic(buffer)
        if version != (1, 0):
            raise InputError(member, f"NumPy format {version}", "format (1, 0) is understood")
        shape, fortran, dtype = npy.read_array_header_1_0(buffer, max_header_size=MAX_NPY_HEADER)
    except ValueError:
        raise InputError(member, "is no NumPy array", "write the file again") from None
    allowed = ("|u1",) if kind == PACKED else TABLES.get(kind) or PAGES[kind]
    if dtype.hasobject or dtype.str not in allowed:
        raise InputError(member, f"holds numbers of type {dtype.str}", f"must be {' or '.join(allowed)}")
    wanted = (LANES,) if kind in ROWS_OF_LANES else ()
    if fortran or len(shape) != 1 + len(wanted) or shape[1:] != wanted or shape[0] < 0:
        raise InputError(
            member, f"has the shape {shape}", f"must have {1 + len(wanted)} dimensions, row by row"
        )
    count = shape[0] * (LANES if wanted else 1)
    if len(data) - buffer.tell() != count * dtype.itemsize:
        raise InputError(member, f"does not hold the {count} numbers that it says", "write the file again")
    return np.frombuffer(data, dtype=dtype, offset=buffer.tell()).reshape(shape)

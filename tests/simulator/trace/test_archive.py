"""Trace files: the same bytes each time, small, whole or absent; every kind of damage refused in one line."""

import io
import itertools
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.trace.archive import load, save
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expand import expand, recorded
from simulator.trace.expression import block, thread
from simulator.trace.info import info
from simulator.trace.schema import KernelTrace

QUIET = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def kernel(trips: int = 3) -> KernelTrace:
    memory = GlobalMemory()
    x = memory.tensor("x", 1 << 16, "input")
    k = KernelBuilder("good", grid=4, block=70, meta=(("made", "by hand"),))
    with k.operator("Relu"), k.loop(trips):
        k.load(2, k.at(x, block * 4096 + thread * 4 + (thread // 7) * 4), tensor=x)
        with k.guard(thread, 0, 65):
            k.fadd(2, 2, 2)
        k.barrier()
    return k.build()


@pytest.fixture
def both(tmp_path: Path) -> Path:
    return save([kernel(), recorded(kernel())], tmp_path / "both.trace.npz")


@QUIET
@given(data=st.data())
def test_what_is_read_is_what_was_written(data: Any, random_traces: Any, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("traces")
    trace = data.draw(random_traces)
    traces = [trace]
    if sum(1 for _ in itertools.islice(expand(trace), 1000)) < 1000:
        traces.append(recorded(trace))
    path = save(traces, folder / "a.trace.npz")
    again = load(path, checked=False)
    assert again[0] == trace
    assert [list(itertools.islice(expand(one), 1000)) for one in again] == [
        list(itertools.islice(expand(one), 1000)) for one in traces
    ]
    assert save(again, folder / "b.trace.npz").read_bytes() == path.read_bytes()


def test_a_hundred_million_instructions_fit_into_100_kilobytes(tmp_path: Path) -> None:
    trace = kernel(trips=2_100_000)
    assert info(trace)["warp_instructions"] > 100_000_000
    path = save(trace, tmp_path / "long.trace.npz")
    assert path.stat().st_size < 100_000
    (again,) = load(path)
    assert len(list(itertools.islice(expand(again), 5000))) == 5000


def test_a_recording_takes_few_bytes_for_an_instruction(tmp_path: Path) -> None:
    memory = GlobalMemory()
    x = memory.tensor("x", 1 << 24, "input")
    k = KernelBuilder("copy", grid=64, block=256)
    with k.loop(8) as turn:
        k.load(2, k.at(x, (turn * 64 * 256 + block * 256 + thread) * 4), tensor=x)
        k.alu(3, 2)
        k.alu(3, 3)
    trace = recorded(k.build())
    assert trace.recording is not None
    instructions = info(trace)["warp_instructions"]
    assert trace.recording.bytes_in_memory() / instructions < 6
    assert save(trace, tmp_path / "r.trace.npz").stat().st_size / instructions < 2


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no kernel to write"):
        save([], tmp_path / "none.trace.npz")
    with pytest.raises(AttributeError):
        save([None], tmp_path / "none.trace.npz")  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def refused(path: Path, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        load(path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert "\n" not in line
    assert len(line) < 600


def test_truncated_anywhere(both: Path) -> None:
    whole = both.read_bytes()
    cut = both.with_name("cut.trace.npz")
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        refused(cut, "is damaged or no trace file")


def test_a_flipped_bit_is_refused_or_harmless(both: Path) -> None:
    whole = both.read_bytes()
    expected = [list(expand(one)) for one in load(both)]
    flipped = both.with_name("flipped.trace.npz")
    lines = []
    for position in range(0, len(whole), 11):
        data = bytearray(whole)
        data[position] ^= 1 << (position % 8)
        flipped.write_bytes(data)
        try:
            found = load(flipped)
        except InputError as error:
            lines.append(str(error))
        else:
            assert [list(expand(one)) for one in found] == expected
    assert lines
    assert all(line.startswith(str(flipped)) and "\n" not in line for line in lines)


def rewritten(path: Path, change: Any) -> Path:
    """The archive with `change(name, data)` giving each member's new [(name or ZipInfo, data), ...]."""
    target = path.with_name("rewritten.trace.npz")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            for member, data in change(name, source.read(name)):
                out.writestr(member, data)
    return target


def with_array(path: Path, suffix: str, data: bytes) -> Path:
    return rewritten(path, lambda name, old: [(name, data if name.endswith(suffix) else old)])


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def test_pickles_and_wrong_arrays(both: Path) -> None:
    objects = npy(np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    refused(with_array(both, "strides.npy", objects), r"kernel1/strides.npy: holds numbers of type \|O")
    refused(with_array(both, "strides.npy", pickle.dumps([1, 2])), "is no NumPy array")
    for array, words in (
        (np.array([np.nan, np.inf]), "type <f8"),
        (np.zeros(4, dtype=">i8"), "type >i8"),
        (np.zeros((2, 2), dtype="<i8"), r"has the shape \(2, 2\)"),
        (np.zeros((), dtype="<i8"), r"has the shape \(\)"),
        (np.zeros(3, dtype=[("a", "<i8")]), "type"),
    ):
        refused(with_array(both, "strides.npy", npy(array)), words)
    refused(with_array(both, "deltas.npy", npy(np.zeros((2, 31), dtype="<i4"))), "has the shape")
    short = npy(np.zeros(4, dtype="<i8"))
    refused(with_array(both, "strides.npy", short[:-8]), "does not hold the 4 numbers")
    negative = short.replace(b"(4,)", b"(-4)")
    refused(with_array(both, "strides.npy", negative), "has the shape|is no NumPy array")
    refused(
        with_array(both, "strides.npy", short.replace(b"(4,), ", b"(1<<62,)")),
        "is no NumPy array|does not hold",
    )
    refused(with_array(both, "strides.npy", npy(np.zeros(4, dtype="<i8"), version=(2, 0))), "NumPy format")


def test_members_that_do_not_belong(both: Path) -> None:
    def also(extra: Any, data: bytes = b"x") -> Any:
        return lambda name, old: [(name, old), *([(extra, data)] if name == "header.json" else [])]

    for name in (
        "../evil.npy",
        "/etc/passwd",
        "kernel0/../x.npy",
        "kernel0/a.pkl",
        "kernel0/",
        "HEADER.JSON",
    ):
        refused(rewritten(both, also(name)), "is not a member of a trace file")
    refused(rewritten(both, also("kernel0/spare.npy")), "is not a member that the header speaks of")
    link = zipfile.ZipInfo("kernel0/strides.npy")
    link.external_attr = 0o120777 << 16
    refused(rewritten(both, also(link, b"/etc/passwd")), "is not a plain file")
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = rewritten(both, also("header.json", b"{}"))
    refused(twice, "is in the archive twice")
    refused(
        rewritten(both, lambda name, old: [] if name.endswith("bases.npy") else [(name, old)]),
        "bases.npy: is missing",
    )
    refused(
        rewritten(both, lambda name, old: [] if name == "header.json" else [(name, old)]),
        "header.json: is missing",
    )
    packed = zipfile.ZipInfo("header.json")
    packed.compress_type = zipfile.ZIP_BZIP2
    refused(
        rewritten(both, lambda name, old: [(packed if name == "header.json" else name, old)]),
        "encrypted or packed",
    )


def test_sizes_are_judged_before_anything_is_unpacked(both: Path) -> None:
    with pytest.raises(InputError, match=r"unpacks to .* at most 1000 in all"):
        load(both, unpacked_limit_bytes=1000)
    data = bytearray(both.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFFF0)
    lying = both.with_name("lying.trace.npz")
    lying.write_bytes(data)
    refused(lying, "header.json: 4294967280 bytes; a header has at most")
    data[entry + 24 : entry + 28] = struct.pack("<I", 20)
    lying.write_bytes(data)
    refused(lying, "damaged|not valid")
    bomb = both.with_name("bomb.trace.npz")
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", b" " * (65 << 20))
    refused(bomb, "a header has at most")


def with_header(path: Path, change: Any) -> Path:
    def rewrite(name: str, data: bytes) -> list[tuple[str, bytes]]:
        if name != "header.json":
            return [(name, data)]
        document = json.loads(data)
        found = change(document)
        return [(name, found if isinstance(found, bytes) else json.dumps(document).encode())]

    return rewritten(path, rewrite)


def put(*path: Any) -> Any:
    """Change one value of the header: put("kernels", 0, "name", 5)."""

    def change(document: Any) -> None:
        for key in path[:-2]:
            document = document[key]
        document[path[-2]] = path[-1]

    return change


HEADERS: list[tuple[Any, str]] = [
    (lambda _: b"{", "is not valid"),
    (lambda _: b"[" * 100_000, "is not valid"),
    (lambda _: b'{"format":1,"format":2}', "a key stands twice"),
    (lambda _: b'{"version":' + b"9" * 5000 + b"}", "is not valid"),
    (lambda _: b'{"version":NaN}', "NaN is no whole number"),
    (lambda _: b'{"version":-Infinity}', "Infinity is no whole number"),
    (lambda _: b'{"version":1.5}', "1.5 is no whole number"),
    (lambda _: b"\xff\xfe", "is not valid"),
    (lambda _: b"[]", "is not the header of a trace"),
    (put("format", "other"), "is not the header of a trace"),
    (put("version", 2), "schema version 2; version 1 is understood"),
    (put("spare", 1), "unknown key 'spare'"),
    (put("kernels", []), "has no kernel"),
    (put("kernels", 0, 7), "kernel 0: is no object"),
    (put("kernels", 0, "gird", 7), "unknown key 'gird'; did you mean 'grid'"),
    (put("kernels", 0, "grid", [1, 2]), "grid: 2 sizes; give three"),
    (put("kernels", 0, "grid", [1, 1, True]), "'True' is no whole number"),
    (put("kernels", 0, "grid", [1, 1, -5]), "grid"),
    (put("kernels", 0, "grid", 5), "is no list"),
    (put("kernels", 0, "barriers", 1 << 63), "is out of range"),
    (put("kernels", 0, "registers_per_thread", -1), "registers_per_thread is -1"),
    (put("kernels", 0, "registers_per_thread", "many"), "'many' is no whole number"),
    (put("kernels", 0, "name", 5), "is no text"),
    (put("kernels", 0, "tensors", 0, ["x", -1, 0, "input"]), "tensor 0: -1 is out of range"),
    (put("kernels", 0, "tensors", 0, ["x"]), "1 entries"),
    (put("kernels", 0, "meta", [["a"]]), "is no pair"),
    (put("kernels", 0, "expressions", 0, []), "is empty"),
    (put("kernels", 0, "expressions", 0, [0, [1, 0, 1]]), "a term with a piece missing"),
    (put("kernels", 0, "expressions", 0, [0, [1, 0, 1, 0, 99, 1]]), "99 is out of range"),
    (put("kernels", 0, "instructions", 0, 3), "is no instruction"),
    (put("kernels", 0, "instructions", 0, "operation", "LDX"), "unknown operation 'LDX'"),
    (put("kernels", 0, "instructions", 0, "address", 900), "900 is out of range"),
    (put("kernels", 0, "instructions", 0, "colour", 1), "unknown field 'colour'"),
    (put("kernels", 0, "instructions", 1, "guards", [[0]]), "is no guard"),
    (put("kernels", 0, "program", [[0]]), r"program\[0\]: is no loop"),
    (put("kernels", 0, "program", [77]), r"program\[0\]: 77 is out of range"),
    (
        put("kernels", 0, "program", [[0, [[0, [[0, [[0, [[0, [[0, [[0, [[0, [[0, [0]]]]]]]]]]]]]]]]]]]),
        "nest deeper than 8",
    ),
    (put("kernels", 1, "recording", "pages", 2), "page1/access_starts.npy: is missing"),
    (put("kernels", 1, "recording", "pages", 1 << 40), "is out of range"),
    (put("kernels", 1, "recording", "accesses", [3]), "3 is out of range"),
    (put("kernels", 1, "recording", "statics", [99]), "99 is out of range"),
    (put("kernels", 1, "form", "generated"), "without its content"),
]


@pytest.mark.parametrize(("change", "words"), HEADERS, ids=[words for _, words in HEADERS])
def test_bad_headers(change: Any, words: str, both: Path) -> None:
    refused(with_header(both, change), words)


def test_what_is_no_file(tmp_path: Path) -> None:
    refused(tmp_path / "absent.trace.npz", "cannot be read")
    refused(tmp_path, "is no file")

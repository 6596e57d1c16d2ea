"""Hostile traces: whatever is done to a file, the reader gives a sound trace or one line, soon and in little
memory.

2,000 damaged files in every run, 100,000 in the long tests (their fraction of it). A file is a sound one with
pieces changed, cut, doubled or swapped, in any header, or plain noise.
"""

import lzma
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.trace.accelsim import load
from simulator.trace.check import check
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, copy_kernel, line

SECONDS, BYTES = 10, 500 << 20
WORDS = [
    *(
        "0",
        "1",
        "2",
        "7",
        "-1",
        "ffffffff",
        "00000000",
        "0x0",
        "0x7f0000000000",
        "9" * 30,
        "R255",
        "R256",
        "R300",
    ),
    *(
        "EXIT",
        "LDG.E.128",
        "LDGSTS.E",
        "LDSM.16.M88.4",
        "HMMA.16816.F32",
        "BAR.SYNC",
        "ATOMS.ADD",
        "STL",
        "LD",
    ),
    *(
        "#END_TB",
        "#BEGIN_TB",
        "warp = 0",
        "insts = 99999999999",
        "thread block = 0,0,0",
        "-nregs = 255",
        "\n",
    ),
    *("(1,1,1)", "(65535,65535,65535)", "=", "é", "\0", "1_0", "+1", "0x", " " * 300),
]


def sound_files() -> list[list[str]]:
    """The words of some sound files, with line ends among them."""
    rich = [
        line(0, FULL, "LDG.E.64", [4], [2], [8 * (lane * lane % 37) for lane in range(LANES)], 2),
        line(16, 0x00FF00F0, "STS", [], [2, 4], [4 * lane for lane in range(LANES)], 0),
        line(32, FULL, "LDGSTS.E", [], [3, 4], [512 + 4 * lane for lane in range(LANES)]),
        line(32, FULL, "LDGSTS.E", [], [3, 4], [1 << 30 | 4 * lane for lane in range(LANES)]),
        line(48, FULL, "LDGDEPBAR"),
        line(64, FULL, "DEPBAR.LE", immediate=1),
        line(80, FULL, "LD.E", [5], [2], [0x7F5A000000 + 4 * lane for lane in range(LANES)]),
        line(96, FULL, "BAR.SYNC"),
        line(112, FULL, "EXIT"),
    ]
    writers = [
        copy_kernel(2, 40),
        copy_kernel(1, 32, version=1, line_info=True),
        Writer(
            shared=4096,
            binary=80,
            shared_base=0x7F5A000000,
            local_base=0x7F58000000,
            warps={((0, 0, 0), 0): rich},
        ),
    ]
    return [writer.text().replace("\n", " \n ").split(" ") for writer in writers]


FILES = sound_files()
PACKED = lzma.compress(copy_kernel(1, 40).text().encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=200))
    words = list(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words) - 1))
        act = draw(st.sampled_from(["replace", "insert", "delete", "swap", "repeat", "cut", "tweak"]))
        if act == "replace":
            words[at] = draw(st.sampled_from(WORDS))
        elif act == "insert":
            words.insert(at, draw(st.sampled_from(WORDS)))
        elif act == "delete" and len(words) > 1:
            del words[at : at + draw(st.integers(1, 8))]
        elif act == "swap":
            other = draw(st.integers(0, len(words) - 1))
            words[at], words[other] = words[other], words[at]
        elif act == "repeat":
            words[at:at] = words[at : at + draw(st.integers(1, 30))]
        elif act == "cut":
            words = words[: max(1, at)]
        elif words[at]:
            letter = draw(st.integers(0, len(words[at]) - 1))
            word = words[at]
            words[at] = (
                word[:letter] + draw(st.sampled_from("0123456789abcdefRx-.,() =")) + word[letter + 1 :]
            )
        if not words:
            words = [""]
    return " ".join(words).replace(" \n ", "\n").encode()


def judge(data: bytes, folder: Path) -> None:
    """Read the file; anything but a sound trace or an InputError of one line fails."""
    file = folder / "kernel-1.traceg"
    file.write_bytes(data)
    started = time.monotonic()
    words = ""
    try:
        for kernel in load(file).kernels:
            check(kernel)
    except InputError as error:
        words = str(error)
    assert "\n" not in words
    assert len(words) < 1000
    assert time.monotonic() - started < SECONDS


def grown_bytes(before: int) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


QUICK = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(max_examples=2000, suppress_health_check=QUICK)
@given(data=damaged())
def test_two_thousand_damaged_files(data: bytes, folder: Path) -> None:
    judge(data, folder)


@settings(max_examples=300, suppress_health_check=QUICK)
@given(
    pieces=st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "kernel-1.traceg",
                    "kernel-9.traceg",
                    "MemcpyHtoD,0x7f0000000000,64",
                    ",",
                    "\n",
                    "\n",
                    "#",
                    "9" * 40,
                ]
            ),
            st.text(max_size=8),
        ),
        max_size=12,
    )
)
def test_damaged_lists(pieces: list[str], folder: Path) -> None:
    (folder / "kernel-1.traceg").write_text(copy_kernel(1, 32).text())
    (folder / "kernelslist.g").write_bytes("".join(pieces).encode("utf-8", "surrogatepass"))
    words, kernels = "", 0
    try:
        kernels = len(load(folder).kernels)
    except InputError as error:
        words = str(error)
    assert bool(words) != bool(kernels)
    assert "\n" not in words


@settings(max_examples=150, suppress_health_check=QUICK)
@given(at=st.integers(0, 2000), value=st.integers(0, 255), cut=st.integers(0, 4000))
def test_damaged_packing(at: int, value: int, cut: int, folder: Path) -> None:
    data = bytearray(PACKED)
    data[at % len(data)] = value
    file = folder / "kernel-3.traceg.xz"
    file.write_bytes(data[:cut])
    words = ""
    try:
        check(load(file).kernels[0])
    except InputError as error:
        words = str(error)
    assert "\n" not in words


@pytest.mark.slow
def test_a_hundred_thousand_damaged_files(fraction: Fraction, folder: Path) -> None:
    before = grown_bytes(0)

    @settings(max_examples=max(1, int(100_000 * fraction)), suppress_health_check=QUICK, deadline=None)
    @given(data=damaged())
    def many(data: bytes) -> None:
        judge(data, folder)

    many()
    assert grown_bytes(before) < BYTES


def test_sound_files_are_read(folder: Path) -> None:
    for words in FILES:
        file = folder / "kernel-2.traceg"
        file.write_text(" ".join(words).replace(" \n ", "\n"))
        check(load(file).kernels[0], full=True)


def test_sizes_that_a_header_announces_cost_nothing(folder: Path) -> None:
    text = copy_kernel(1, 32).text()
    before = grown_bytes(0)
    for piece, other in (
        ("(1,1,1)", "(2147483647,65535,65535)"),
        ("(1,1,1)", "(60000000,1,1)"),
        ("insts = 6", "insts = 999999999999"),
        ("thread block = 0,0,0", "thread block = 999999999,0,0"),
    ):
        judge(text.replace(piece, other, 1).encode(), folder)
    far = text.replace("(1,1,1)", "(60000000,1,1)", 1).replace("block = 0,0,0", "block = 59999999,0,0")
    judge(far.encode(), folder)
    assert grown_bytes(before) < BYTES

"""Every input that the peer mishandles is refused in one line with file, line and remedy."""

import re
from pathlib import Path

import pytest

from hwmodels.errors import InputError
from simulator.trace.accelsim import load
from tests.simulator.trace.accelsim.writer import copy_kernel

TEXT = copy_kernel(blocks=2, threads=64).text()
LOAD = "LDG.E.SYS 1 R2 4 1 0x7f0000000000 4 0"


def refused(folder: Path, text: str, name: str = "kernel-1.traceg") -> InputError:
    file = folder / name
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        list(load(file).kernels)
    assert str(file) in caught.value.place
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return caught.value


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


CASES = {
    "insts too small": ("insts = 6", "insts = 5", "after the 5 instructions of warp 0"),
    "insts too big": ("insts = 6", "insts = 7", "after 6 of 7"),
    "unknown opcode": ("IMAD.WIDE", "IMADX.WIDE", "did you mean 'IMAD'"),
    "too many sources": ("IMAD.WIDE 2 R0 R1", "IMAD.WIDE 4 R0 R1 R2 R3", "4 source registers"),
    "a destination too many": ("0 STG.E.SYS", "1 R3 STG.E.SYS", "1 destination"),
    "a destination too few": ("1 R2 IMAD.WIDE", "0 IMAD.WIDE", "0 destination"),
    "no EXIT": ("0050 ffffffff 0 EXIT", "0050 ffffffff 0 NOP", "ends without EXIT in lanes ffffffff"),
    "EXIT for half": ("0050 ffffffff 0 EXIT", "0050 0000ffff 0 EXIT", "ends without EXIT in lanes ffff0000"),
    "blocks missing": ("(2,1,1)", "(3,1,1)", "2 of 3 blocks"),
    "4096 registers": ("-nregs = 16", "-nregs = 4096", "out of range"),
    "register too high": ("1 R2 IMAD.WIDE", "1 R16 IMAD.WIDE", "beyond the 16 registers"),
    "no such register": ("1 R2 IMAD.WIDE", "1 RX IMAD.WIDE", "is no register"),
    "address mode 7": (LOAD, LOAD.replace(" 4 1 0x", " 4 7 0x"), "address mode '7'"),
    "list truncated": (LOAD, "LDG.E.SYS 1 R2 4 0 0x7f0000000000 0x7f0000000004 0", "2 addresses for 32"),
    "differences truncated": (LOAD, "LDG.E.SYS 1 R2 4 2 0x7f0000000000 4 4 4 0", "3 numbers where 31"),
    "no base": (LOAD, "LDG.E.SYS 1 R2 4 1 0", "numbers where|base address"),
    "misaligned": (LOAD, "LDG.E.128.SYS 1 R2 16 1 0x7f0000000004 16 0", "misaligned"),
    "misaligned stride": (LOAD, "LDG.E.128.SYS 1 R2 16 1 0x7f0000000000 4 0", "misaligned"),
    "beyond 48 bits": (LOAD, "LDG.E.SYS 1 R2 4 1 0xffffffffffc0 4 0", "reaches"),
    "no registers": ("-nregs = 16\n", "", "no -nregs"),
    "no shared size": ("-shmem = 0\n", "", "no -shmem"),
    "no tracer version": ("-accelsim tracer version = 5\n", "", "no -accelsim tracer version"),
    "unknown tracer": ("tracer version = 5", "tracer version = 6", "out of range"),
    "unknown key": ("-nregs", "-nreg", "did you mean 'nregs'"),
    "key twice": ("-nregs = 16", "-nregs = 16\n-nregs = 17", "again"),
    "unknown version": ("-binary version = 70", "-binary version = 71", "no table of operations"),
    "stray words": ("#BEGIN_TB", "hello", "where a block must begin"),
    "block twice": ("thread block = 1,0,0", "thread block = 0,0,0", "twice"),
    "block outside": ("thread block = 1,0,0", "thread block = 2,0,0", "outside the grid"),
    "warp twice": ("warp = 1", "warp = 0", "again"),
    "warp outside": ("warp = 1", "warp = 2", "outside the block"),
    "memory without addresses": (LOAD, "LDG.E.SYS 1 R2 0 0", "has no addresses"),
    "addresses without memory": ("S2R 0 0 0", "S2R 0 4 1 0x0 4 0", "accesses no memory"),
    "no immediate": ("S2R 0 0 0", "S2R 0 0", "immediate"),
    "shared memory too small": (LOAD, "LDS 1 R2 4 1 0x0 4 0", "shared memory"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_with_place_and_remedy(case: str, tmp_path: Path) -> None:
    before, after, message = CASES[case]
    assert before in TEXT, "the case must change something"
    text = TEXT.replace(before, after, 1)
    error = refused(tmp_path, text)
    assert re.search(message, str(error)), str(error)
    if ":" in error.place.removeprefix(str(tmp_path)):
        assert 1 <= int(error.place.rsplit(":", 1)[1]) <= text.count("\n") + 1


def test_the_line_is_that_of_the_culprit(tmp_path: Path) -> None:
    text = TEXT.replace(LOAD, LOAD.replace(" 4 1 0x", " 4 7 0x"), 1)
    assert refused(tmp_path, text).place.endswith(f":{line_of(text, ' 4 7 0x')}")


def test_a_missing_last_end_of_block(tmp_path: Path) -> None:
    error = refused(tmp_path, TEXT.removesuffix("#END_TB\n"))
    assert "end of the file" in error.problem


def test_lanes_that_were_not_launched(tmp_path: Path) -> None:
    text = copy_kernel(blocks=1, threads=40).text().replace("000000ff 1 R4", "000001ff 1 R4")
    assert "not launched" in str(refused(tmp_path, text))


@pytest.mark.parametrize(
    "name", ["kernel-1.trace", "kernel-1.trace.xz", "kernel-1.tracez", "kernel-1.txt.xz"]
)
def test_other_kinds_of_file(name: str, tmp_path: Path) -> None:
    assert "traceg" in refused(tmp_path, TEXT, name).remedy


@pytest.mark.parametrize(
    ("text", "message", "number"),
    [
        ("", "names no kernel", None),
        ("MemcpyHtoD,0x7f0000000000,64\n", "names no kernel", None),
        ("kernel-2.traceg\n", "not beside the list", 1),
        ("kernel-1.traceg\nMemcpyDtoH,0x7f0000000000,64\n", "no command", 2),
        ("kernel-1.traceg\nmemcpyhtod,0x7f0000000000,64\n", "no command", 2),
        ("kernel-1.traceg\nMemcpyHtoD,0xfffffffffff0,64\n", "48 bits", 2),
        ("kernel-1.trace\n", "no trace that can be read", 1),
        ("../kernel-1.traceg\n", "no command", 1),
        ("kernel-1.traceg\n\nKernel-1.traceg\n", "no command", 3),
    ],
)
def test_lists(text: str, message: str, number: int | None, tmp_path: Path) -> None:
    (tmp_path / "kernel-1.traceg").write_text(TEXT)
    error = refused(tmp_path, text, "kernelslist.g")
    assert message in str(error)
    assert number is None or error.place.endswith(f":{number}")


def test_a_raw_list_and_no_list(tmp_path: Path) -> None:
    for place in (tmp_path / "kernelslist", tmp_path / "kernelslist.g", tmp_path):
        with pytest.raises(InputError):
            load(place)


def test_damaged_packing(tmp_path: Path) -> None:
    file = copy_kernel(2, 64).write(tmp_path / "kernel-1.traceg.xz")
    data = file.read_bytes()
    for damaged in (data[: len(data) // 2], data[:-20], b"hello", b"", data[:60] + b"\xff\xff" + data[62:]):
        file.write_bytes(damaged)
        with pytest.raises(InputError) as caught:
            list(load(file).kernels)
        assert str(file) in caught.value.place


def test_an_endless_line_and_endless_blanks(tmp_path: Path) -> None:
    assert "a line of" in str(refused(tmp_path, TEXT.replace("NOP", "x") + "y" * 20_000))
    assert "blank lines" in str(refused(tmp_path, TEXT + "\n" * 70_000))

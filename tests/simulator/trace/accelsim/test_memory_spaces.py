"""Generic addresses, windows of shared and local memory, asynchronous copies, waits, and predicated-off
lines.
"""

from pathlib import Path

import pytest

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.accelsim import AccelSimRun, load
from simulator.trace.check import check
from simulator.trace.expand import Dynamic, expand
from simulator.trace.schema import KernelTrace
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, line

SHARED_BASE, LOCAL_BASE = 0x7F5A000000, 0x7F58000000
WORDS = [4 * lane for lane in range(LANES)]


def at(base: int) -> list[int]:
    return [base + word for word in WORDS]


def run(folder: Path, *lines: tuple[str, int], **fields: object) -> AccelSimRun:
    fields = {"shared": 4096, "binary": 80, "shared_base": SHARED_BASE, "local_base": LOCAL_BASE, **fields}
    writer = Writer(warps={((0, 0, 0), 0): [*lines, line(0x900, FULL, "EXIT")]}, **fields)  # type: ignore[arg-type]
    return load(writer.write(folder / "kernel-1.traceg"))


def read(folder: Path, *lines: tuple[str, int], **fields: object) -> tuple[KernelTrace, list[Dynamic]]:
    trace = run(folder, *lines, **fields).kernels[0]
    check(trace, full=True)
    return trace, list(expand(trace))


@pytest.mark.parametrize("swapped", [False, True])
def test_generic_addresses_by_window(swapped: bool, tmp_path: Path) -> None:
    shared, local = (LOCAL_BASE, SHARED_BASE) if swapped else (SHARED_BASE, LOCAL_BASE)
    trace, found = read(
        tmp_path,
        line(0, FULL, "LD.E", [4], [2], at(shared + 256)),
        line(0, FULL, "LD.E", [4], [2], at(0x10000)),
        line(16, FULL, "ST.E", [], [2, 4], [local + 0xFFFC80] * LANES),
        line(32, FULL, "ATOM.E.ADD", [4], [2, 6], at(shared)),
        line(48, FULL, "ATOM.E.ADD", [4], [2, 6], at(0x20000)),
        line(64, 0, "LD.E", [4], [2], at(0)),
        shared_base=shared,
        local_base=local,
    )
    operations = [trace.flat().instructions[one.static].operation for one in found]
    assert operations == [
        Operation.LDS,
        Operation.LDG,
        Operation.STL,
        Operation.ATOMS,
        Operation.ATOMG,
        Operation.LDG,
        Operation.EXIT,
    ]
    assert found[0].addresses == tuple(at(256))
    assert found[1].addresses == tuple(at(0x10000))
    assert found[2].addresses == (0,) * LANES


def test_generic_without_bases_or_across_windows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="base_addr"):
        list(run(tmp_path, line(0, FULL, "LD.E", [4], [2], at(64)), shared_base=0).kernels)
    lanes = [SHARED_BASE - 64 + word for word in WORDS]
    with pytest.raises(InputError, match="several spaces"):
        list(run(tmp_path, line(0, FULL, "LD.E", [4], [2], lanes)).kernels)
    with pytest.raises(InputError, match="LOCAL"):
        list(run(tmp_path, line(0, FULL, "ATOM.E.ADD", [4], [2, 6], at(LOCAL_BASE))).kernels)
    trace, _ = read(tmp_path, line(0, FULL, "LD.E", [4], [2], at(64)), shared_base=0, binary=35)
    assert trace.flat().instructions[0].operation is Operation.LDG


def test_local_memory_begins_at_its_first_byte(tmp_path: Path) -> None:
    trace, found = read(
        tmp_path,
        line(0, FULL, "STL.128", [], [1, 8], [0xFFFC40] * LANES),
        line(16, FULL, "STL", [], [1, 4], [0xFFFC78] * LANES, 0),
        line(32, FULL, "LDL", [5], [1], [0xFFFC44 + 4 * (lane % 3) for lane in range(LANES)], 2),
    )
    assert trace.local_bytes_per_thread == 0x40
    assert found[0].addresses == (0,) * LANES
    assert found[1].addresses == (0x38,) * LANES
    assert found[2].addresses == tuple(4 + 4 * (lane % 3) for lane in range(LANES))


def test_shared_memory_behind_the_reserved_kilobyte(tmp_path: Path) -> None:
    loads = (line(0, FULL, "LDS", [4], [2], at(1024)), line(16, FULL, "LDS", [4], [2], at(1024 + 4096 - 128)))
    _, found = read(tmp_path, *loads)
    assert found[0].addresses == tuple(at(0))
    assert found[1].addresses == tuple(at(4096 - 128))
    with pytest.raises(InputError, match="-shmem"):
        read(tmp_path, *loads, line(32, FULL, "LDS", [4], [2], at(0)))
    with pytest.raises(InputError, match="shared memory"):
        read(tmp_path, *loads, binary=70)


def test_asynchronous_copies(tmp_path: Path) -> None:
    both = [line(0, FULL, "LDGSTS.E", [], [3, 4], lanes) for lanes in (at(512), at(0x10000))]
    for version, open_groups in ((5, 2), (4, 0)):
        trace, found = read(
            tmp_path,
            *both,
            line(16, FULL, "LDGDEPBAR"),
            line(32, FULL, "DEPBAR.LE", immediate=2),
            line(48, 0, "DEPBAR.LE", immediate=1),
            version=version,
        )
        copy, commit, wait, off, _ = found
        instructions = trace.flat().instructions
        assert (copy.addresses, copy.shared_addresses) == (tuple(at(0x10000)), tuple(at(512)))
        assert instructions[copy.static].operation is Operation.LDGSTS
        assert instructions[copy.static].src == (3, 4, 5)
        assert instructions[commit.static].operation is Operation.ASYNC_COMMIT
        assert instructions[wait.static].operation is Operation.ASYNC_WAIT
        assert instructions[wait.static].count == open_groups
        assert instructions[off.static].operation is Operation.NOP


def test_a_copy_with_its_global_line_only(tmp_path: Path) -> None:
    one = line(0, FULL, "LDGSTS.E.BYPASS.128", [], [3, 4], [0x10000 + 16 * lane for lane in range(LANES)])
    trace, found = read(tmp_path, one, line(16, FULL, "NOP"), one)
    assert [trace.flat().instructions[one.static].operation.name for one in found] == [
        "LDGSTS",
        "NOP",
        "LDGSTS",
        "EXIT",
    ]
    assert found[0].shared_addresses == tuple(16 * lane for lane in range(LANES))
    with pytest.raises(InputError, match="shared address only"):
        read(tmp_path, line(0, FULL, "LDGSTS.E", [], [3, 4], at(512)))


def test_matrix_loads_use_the_lanes_of_their_matrices(tmp_path: Path) -> None:
    rows = [16 * lane for lane in range(LANES)]
    for suffix, mask in (("", 0xFF), (".2", 0xFFFF), (".4", FULL)):
        _, found = read(tmp_path, line(0, FULL, f"LDSM.16.M88{suffix}", [8], [2], rows))
        assert found[0].mask == mask
        assert found[0].addresses == tuple(row if mask >> lane & 1 else 0 for lane, row in enumerate(rows))


def test_predicated_off_lines_are_issued_and_do_nothing(tmp_path: Path) -> None:
    trace, found = read(
        tmp_path,
        line(0, 0, "LDG.E", [4], [2], at(0), 1),
        line(16, 0, "BAR.SYNC"),
        line(32, 0, "BRA"),
        line(48, 0, "MEMBAR.GPU"),
        ("0040 00000000 1 R4 LDG.E 1 R2 0", 0),
    )
    assert [one.mask for one in found] == [0, 0, 0, 0, 0, FULL]
    names = [trace.flat().instructions[one.static].operation.name for one in found]
    assert names == ["LDG", "NOP", "BRANCH", "NOP", "LDG", "EXIT"]


def test_an_unknown_opcode_only_with_a_class_for_it(tmp_path: Path) -> None:
    writer = Writer(warps={((0, 0, 0), 0): [line(0, FULL, "NEWOP.X", [4], [2]), line(16, FULL, "EXIT")]})
    file = writer.write(tmp_path / "kernel-1.traceg")
    with pytest.raises(InputError, match="unknown volta opcode"):
        list(load(file).kernels)
    given = load(file, fallback="imad")
    assert given.kernels[0].flat().instructions[0].operation is Operation.IMAD
    assert given.warnings == ["NEWOP: unknown, counted as IMAD as asked"]
    with pytest.raises(InputError, match="did you mean"):
        load(file, fallback="IMADE")

"""Vectors are widened to what the mnemonic implies; widths and shapes against the instruction set's names."""

from pathlib import Path

import pytest

from hwmodels.operations import Operation
from simulator.trace.accelsim import load
from simulator.trace.accelsim.operands import bytes_per_lane
from simulator.trace.accelsim.tables import ARCHITECTURES
from simulator.trace.schema import Instruction
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, line

VOLTA, AMPERE = 70, 80
ADDRESSES = [65536 + 16 * lane for lane in range(LANES)]


def instruction(
    folder: Path, opcode: str, dst: list[int], src: list[int], memory: bool = False, binary: int = AMPERE
) -> Instruction:
    addresses = ADDRESSES if memory else None
    if memory and opcode.startswith(("LDS", "STS", "ATOMS", "STL", "LDL")):
        addresses = [16 * lane for lane in range(LANES)]
    lines = [line(0, FULL, opcode, dst, src, addresses), line(16, FULL, "EXIT")]
    writer = Writer(registers=64, shared=4096, binary=binary, warps={((0, 0, 0), 0): lines})
    return load(writer.write(folder / "kernel-1.traceg")).kernels[0].flat().instructions[0]


@pytest.mark.parametrize(
    ("opcode", "dst", "src", "into", "out_of", "width"),
    [
        ("LDG.E.SYS", [4], [2], (4,), (2, 3), 4),
        ("LDG.E.128.CONSTANT", [4], [2], (4, 5, 6, 7), (2, 3), 16),
        ("LDG.E.64", [4], [255], (4, 5), (255,), 8),
        ("LDG.E.U8", [4], [3], (4,), (3,), 1),
        ("LDG.E.S16", [4], [2], (4,), (2, 3), 2),
        ("LDG.128", [4], [2], (4, 5, 6, 7), (2,), 16),
        ("STG.E.128", [], [2, 8], (), (2, 3, 8, 9, 10, 11), 16),
        ("LDS.U.128", [12], [2], (12, 13, 14, 15), (2,), 16),
        ("STS.64", [], [2, 6], (), (2, 6, 7), 8),
        ("LDSM.16.M88.4", [8], [2], (8, 9, 10, 11), (2,), 16),
        ("LDSM.16.MT88.2", [8], [2], (8, 9), (2,), 16),
        ("ATOMG.E.CAS.64.STRONG.GPU", [4], [2, 6, 8], (4, 5), (2, 3, 6, 7, 8, 9), 8),
        ("ATOMG.E.ADD.STRONG.GPU", [], [5, 2, 6], (5,), (2, 3, 6), 4),
        ("RED.E.ADD.F64.RN.STRONG.GPU", [], [2, 6], (), (2, 3, 6, 7), 8),
    ],
)
def test_memory(
    opcode: str, dst: list[int], src: list[int], into: object, out_of: object, width: int, tmp_path: Path
) -> None:
    found = instruction(tmp_path, opcode, dst, src, memory=True)
    assert (found.dst, found.src, found.bytes_per_lane) == (into, out_of, width)


@pytest.mark.parametrize(
    ("opcode", "dst", "src", "into", "out_of"),
    [
        ("DFMA", [4], [6, 8, 10], (4, 5), (6, 7, 8, 9, 10, 11)),
        ("DSETP.GT.AND", [], [6, 8], (), (6, 7, 8, 9)),
        ("F2F.F64.F32", [4], [7], (4, 5), (7,)),
        ("F2F.F32.F64", [4], [6], (4,), (6, 7)),
        ("F2I.F64.TRUNC", [4], [6], (4,), (6, 7)),
        ("I2F.F64", [4], [7], (4, 5), (7,)),
        ("IMAD.WIDE", [4], [6, 7, 8], (4, 5), (6, 7, 8, 9)),
        ("IMAD", [4], [6, 7, 8], (4,), (6, 7, 8)),
        ("HMMA.16816.F32", [4], [8, 12, 16], (4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 16, 17, 18, 19)),
        ("HMMA.1688.F16", [4], [8, 12, 16], (4, 5), (8, 9, 12, 16, 17)),
        ("HMMA.1688.F32.TF32", [4], [8, 12, 16], (4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 16, 17, 18, 19)),
        ("IMMA.16832.S8.S8", [4], [8, 12, 16], (4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 16, 17, 18, 19)),
        ("CS2R", [4], [], (4, 5), ()),
        ("CS2R.32", [4], [], (4,), ()),
        ("SHFL.BFLY", [], [4, 5], (4,), (5,)),
        ("MOV", [63], [], (63,), ()),
    ],
)
def test_arithmetic(
    opcode: str, dst: list[int], src: list[int], into: object, out_of: object, tmp_path: Path
) -> None:
    found = instruction(tmp_path, opcode, dst, src)
    assert (found.dst, found.src) == (into, out_of)


@pytest.mark.parametrize(
    ("opcode", "operation"),
    [
        ("HMMA.16816.F32.BF16", Operation.HMMA_16816_F32),
        ("HMMA.16816.F16", Operation.HMMA_16816_F16),
        ("HMMA.1684.F32.TF32", Operation.TF32_1684),
        ("HMMA.1688.F32.TF32", Operation.TF32_1688),
        ("HMMA.SP.16832.F32", Operation.HMMA_16816_F32),
        ("IMMA.8816.S8.S8", Operation.IMMA_8816),
        ("BMMA.168256.AND.POPC", Operation.BMMA_168256),
        ("DMMA.884", Operation.DMMA_884),
    ],
)
def test_tensor_shapes(opcode: str, operation: Operation, tmp_path: Path) -> None:
    assert instruction(tmp_path, opcode, [4], [8, 12, 16]).operation is operation


def test_compare_and_swap_before_volta_has_its_two_words_in_one_operand(tmp_path: Path) -> None:
    found = instruction(tmp_path, "ATOM.E.CAS", [4], [2, 6], memory=True, binary=61)
    assert (found.dst, found.src) == ((4,), (2, 3, 6, 7))


def test_volta_steps(tmp_path: Path) -> None:
    found = instruction(tmp_path, "HMMA.884.F32.F32.STEP0", [4], [8, 12, 16], binary=VOLTA)
    assert (found.operation, found.dst) == (Operation.HMMA_884_F32, (4, 5))


def test_widths_by_name() -> None:
    for suffixes, width in (
        (["E", "LTC128B", "128"], 16),
        (["E", "ADD", "F16x2", "RN"], 4),
        (["E", "ADD", "F32x4"], 16),
        (["S8"], 1),
        (["STRONG", "GPU"], 4),
    ):
        assert bytes_per_lane("LDG", suffixes) == width


@pytest.mark.parametrize("architecture", [one.name for one in ARCHITECTURES])
def test_each_table_has_what_every_program_needs(architecture: str) -> None:
    table = next(one for one in ARCHITECTURES if one.name == architecture).opcodes
    for name in (
        "LDG",
        "LDS",
        "STS",
        "LDL",
        "STL",
        "ATOM",
        "RED",
        "FFMA",
        "IADD",
        "MOV",
        "S2R",
        "BAR",
        "EXIT",
    ):
        assert name in table
    assert ("HMMA" in table) == (architecture not in {"kepler", "maxwell", "pascal"})
    assert ("LDGSTS" in table) == (architecture in {"ampere", "ada", "hopper"})
    assert ("XMAD" in table) == (architecture in {"maxwell", "pascal"})
    assert ("UTMALDG" in table) == (architecture == "hopper")
    for opcode in table.values():
        assert 0 <= opcode.least_sources <= opcode.most_sources <= 8
        assert (opcode.operation is Operation.OPAQUE) == (opcode.latency_cycles > 0)

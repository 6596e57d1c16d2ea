"""Traced kernels on a machine: every line is issued once, whatever its masks, spaces and streams."""

from pathlib import Path

import pytest

from hwmodels import Gpu
from simulator import replay
from simulator.trace.accelsim import load
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, copy_kernel, line

SHARED_BASE, LOCAL_BASE = 0x7F5A000000, 0x7F58000000
CARDS = {70: ("v100-sxm2-16gb", "1/16"), 80: ("a100-sxm-40gb", "1/4"), 90: ("h100-sxm", "1/4")}


def card(binary: int) -> Gpu:
    name, scale = CARDS[binary]
    return Gpu.from_card(name).scaled(scale)


@pytest.mark.parametrize("binary", CARDS)
def test_sixteen_kernels_on_three_streams(binary: int, tmp_path: Path) -> None:
    names, lines_of = [], []
    for number in range(16):
        mask = (0x0F0F3355 * (number + 1)) & FULL | 1
        lines = [
            line(0, mask, "LDG.E", [4], [2], [4096 * number + 64 * lane for lane in range(LANES)], 2),
            line(16, 0, "LDG.E", [6], [2], [0] * LANES, 1),
            line(32, FULL & ~mask, "FADD", [5], [4, 4]),
            line(48, mask, "STG.E", [], [2, 4], [1 << 20 | 4 * lane for lane in range(LANES)], 0),
            line(64, 0, "BAR.SYNC"),
            line(80, FULL, "BAR.SYNC"),
            line(96, mask, "EXIT"),
            line(112, 0, "EXIT"),
            line(128, FULL & ~mask, "EXIT"),
        ]
        shorter = [lines[0], lines[5], *lines[6:]]
        writer = Writer((2, 1, 1), (64, 1, 1), binary=binary, stream=number % 3)
        for block in range(2):
            writer.warps[(block, 0, 0), 0] = lines
            writer.warps[(block, 0, 0), 1] = shorter
        writer.write(tmp_path / f"kernel-{number}.traceg")
        names.append(f"kernel-{number}.traceg")
        lines_of.append(2 * (len(lines) + len(shorter)))
    (tmp_path / "kernelslist.g").write_text("\n".join(names) + "\n")
    result = replay(load(tmp_path).kernels, card(binary))
    assert result.kernels["warp_instructions"].tolist() == lines_of


def test_every_kind_of_access(tmp_path: Path) -> None:
    lines = [
        line(0, FULL, "LDGSTS.E.128", [], [3, 4], [16 * lane for lane in range(LANES)]),
        line(0, FULL, "LDGSTS.E.128", [], [3, 4], [1 << 20 | 16 * lane for lane in range(LANES)]),
        line(16, FULL, "LDGDEPBAR"),
        line(32, FULL, "DEPBAR.LE", immediate=0),
        line(48, FULL, "LDSM.16.M88.2", [8], [3], [16 * lane for lane in range(LANES)]),
        line(64, FULL, "STL.64", [], [1, 8], [0xFFFC40] * LANES),
        line(80, FULL, "LDL.64", [10], [1], [0xFFFC40] * LANES),
        line(96, FULL, "LD.E", [12], [2], [SHARED_BASE + 4 * lane for lane in range(LANES)]),
        line(112, FULL, "ATOM.E.ADD", [13], [2, 12], [1 << 21] * LANES),
        line(128, FULL, "RED.E.ADD", [], [2, 12], [1 << 21 | 4 * (lane % 5) for lane in range(LANES)], 2),
        line(144, FULL, "ATOMS.ADD", [14], [3, 12], [8] * LANES),
        line(160, FULL, "HMMA.16816.F32", [16], [8, 12, 16]),
        line(176, FULL, "SHFL.BFLY", [], [20, 21]),
        line(192, FULL, "TEX.B.LL", [22], [23]),
        line(208, FULL, "MEMBAR.SC.GPU"),
        line(224, FULL, "EXIT"),
    ]
    writer = Writer(shared=1024, binary=80, shared_base=SHARED_BASE, local_base=LOCAL_BASE, registers=64)
    writer.warps[(0, 0, 0), 0] = lines
    result = replay(load(writer.write(tmp_path / "kernel-1.traceg")).kernels, card(80))
    assert result.kernels["warp_instructions"].tolist() == [len(lines) - 1]


@pytest.mark.parametrize(("registers", "blocks"), [(16, 8), (33, 6), (64, 4), (128, 2), (255, 1)])
def test_a_copy_holds_as_many_blocks_as_hardware(registers: int, blocks: int, tmp_path: Path) -> None:
    """256 threads a block on one SM of a V100, which gives registers to a warp in pieces of 256."""
    trace = load(copy_kernel(20, 256, registers, turns=2).write(tmp_path / "kernel-1.traceg")).kernels[0]
    result = replay([trace], card(70))
    row = result.kernels.iloc[0]
    assert row["blocks_per_sm"] == blocks
    assert row["warp_instructions"] == 20 * 8 * (2 + 2 * 3 + 1)

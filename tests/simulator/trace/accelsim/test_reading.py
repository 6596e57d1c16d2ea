"""Whatever a test writes in the tracer's format is what the reader gives back, lane by lane: all tracer
versions, all address modes, packed or not.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.operations import Operation
from simulator.trace.accelsim import load
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.schema import KernelTrace
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, copy_kernel, line

GLOBAL = 0x7F0000000000
OPERATIONS = {"FADD": Operation.FADD, "LDG.E.64.SYS": Operation.LDG, "STG.E.SYS": Operation.STG}


def read(writer: Writer, folder: Path, name: str = "kernel-1.traceg") -> KernelTrace:
    return load(writer.write(folder / name)).kernels[0]


@st.composite
def access(draw: st.DrawFn) -> tuple[str, int, list[int], int]:
    """(opcode, mask, addresses, mode) that the mode can say."""
    opcode, width = draw(st.sampled_from([("LDG.E.64.SYS", 8), ("STG.E.SYS", 4)]))
    mode = draw(st.sampled_from([0, 1, 2]))
    if mode == 1:
        first = draw(st.integers(0, 31))
        count = draw(st.integers(1, 32 - first))
        mask = ((1 << count) - 1) << first
        base, stride = draw(st.integers(1 << 20, 1 << 30)), draw(st.integers(-4096, 4096))
        addresses = [GLOBAL + width * (base + stride * lane) for lane in range(LANES)]
    else:
        mask = draw(st.one_of(st.integers(0, FULL), st.just(FULL)))
        far = st.integers(0, (1 << 47) // width)
        near = st.integers(1 << 30, (1 << 30) + 4096)
        some = draw(st.lists(draw(st.sampled_from([far, near])), min_size=LANES, max_size=LANES))
        addresses = [width * one for one in some]
        mode = mode if mask else 1
    return opcode, mask, addresses, mode


@settings(max_examples=60)
@given(
    accesses=st.lists(access(), max_size=12),
    version=st.integers(1, 5),
    line_info=st.booleans(),
    packed=st.booleans(),
)
def test_every_lane_comes_back(
    accesses: list[tuple[str, int, list[int], int]],
    version: int,
    line_info: bool,
    packed: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    writer = Writer(version=version, line_info=line_info, block=(64, 1, 1))
    lines = [line(0, FULL, "FADD", [3], [1, 2])]
    for number, (opcode, mask, addresses, mode) in enumerate(accesses):
        registers = ([], [4, 6]) if opcode.startswith("ST") else ([8], [4])
        lines.append(line(16 + 16 * number, mask, opcode, *registers, addresses, mode))
    lines.append(line(0x1000, FULL, "EXIT"))
    writer.warps = {((0, 0, 0), 0): lines, ((0, 0, 0), 1): lines[::2] + lines[1::2][:-1] + [lines[-1]]}
    folder = tmp_path_factory.mktemp("trace")
    trace = read(writer, folder, "kernel-1.traceg.xz" if packed else "kernel-1.traceg")
    check(trace, full=True)
    found = [one for one in expand(trace) if one.warp == 0]
    assert len(found) == len(lines)
    instructions = trace.flat().instructions
    for dynamic, (opcode, mask, addresses, _) in zip(found[1:-1], accesses, strict=True):
        assert instructions[dynamic.static].operation is OPERATIONS[opcode]
        assert dynamic.mask == mask
        assert dynamic.addresses is not None
        for lane in range(LANES):
            assert dynamic.addresses[lane] == (addresses[lane] if mask >> lane & 1 else 0)


def test_header_and_registers(tmp_path: Path) -> None:
    writer = copy_kernel(blocks=3, threads=96, registers=20, shared=2048, stream=7)
    trace = read(writer, tmp_path)
    assert (trace.name, trace.grid, trace.block) == ("kernel", (3, 1, 1), (96, 1, 1))
    assert (trace.registers_per_thread, trace.shared_bytes_per_block, trace.stream) == (20, 2048, 7)
    assert trace.form == "recorded"
    assert [warp for _, warp in sorted({(one.block, one.warp) for one in expand(trace)})] == [0, 1, 2] * 3


def test_blocks_and_warps_in_any_order(tmp_path: Path) -> None:
    text = copy_kernel(blocks=3, threads=64).text()
    head, *blocks = text.split("#BEGIN_TB")
    file = tmp_path / "kernel-1.traceg"
    file.write_text(head + "".join("#BEGIN_TB" + block for block in (blocks[2], blocks[0], blocks[1])))
    assert list(expand(load(file).kernels[0])) == list(expand(read(copy_kernel(3, 64), tmp_path, "k.traceg")))


def test_no_final_newline_is_read(tmp_path: Path) -> None:
    writer = copy_kernel(1, 32)
    file = tmp_path / "kernel-1.traceg"
    file.write_text(writer.text().rstrip("\n"))
    assert list(expand(load(file).kernels[0])) == list(expand(read(writer, tmp_path, "k.traceg")))


def test_exits_count_as_a_union(tmp_path: Path) -> None:
    lines = [
        line(0, 0xFFFFFFF0, "EXIT"),
        line(16, 0, "EXIT"),
        line(32, 0xF, "FADD", [1], [2]),
        line(48, 0xF, "EXIT"),
    ]
    trace = read(Writer(warps={((0, 0, 0), 0): lines}), tmp_path)
    check(trace, full=True)
    assert [one.mask for one in expand(trace)] == [0xFFFFFFF0, 0, 0xF, 0xF]


def test_fetch_order_is_that_of_the_program(tmp_path: Path) -> None:
    """A warp that jumps ahead first must not make the later warp's straight run look like jumps."""
    straight = [line(pc, FULL, "FADD", [1], [2, 3]) for pc in (0, 16, 32, 48)] + [line(64, FULL, "EXIT")]
    jumping = [straight[0], straight[3], straight[4]]
    writer = Writer(block=(64, 1, 1), warps={((0, 0, 0), 0): jumping, ((0, 0, 0), 1): straight})
    found = [one.static for one in expand(read(writer, tmp_path)) if one.warp == 1]
    assert found == [0, 1, 2, 3, 4]


def test_sixteen_divergent_kernels_on_several_streams(tmp_path: Path) -> None:
    for binary in (70, 80, 90):
        folder = tmp_path / str(binary)
        folder.mkdir()
        names = []
        for number in range(16):
            mask = (0x0F0F3355 * (number + 1)) & FULL | 1
            lines = [
                line(0, mask, "LDG.E", [4], [2], [4096 + 64 * lane for lane in range(LANES)], 0),
                line(16, FULL & ~mask, "FADD", [5], [4, 4]),
                line(32, mask, "EXIT"),
                line(48, FULL & ~mask, "EXIT"),
            ]
            writer = Writer(
                binary=binary, stream=number % 3, name=f"k{number}", warps={((0, 0, 0), 0): lines}
            )
            name = f"kernel-{number + 1}-ctx_0x55d0a{number:x}.traceg"
            writer.write(folder / name)
            names.append(name)
        (folder / "kernelslist.g").write_text("\n".join(names) + "\n")
        run = load(folder)
        assert [kernel.stream for kernel in run.kernels] == [number % 3 for number in range(16)]
        assert [kernel.name for kernel in run.kernels] == [f"k{number}" for number in range(16)]
        for kernel in run.kernels:
            check(kernel, full=True)

"""Runs, copies, conversion, architectures, and residency: from a list to what a replay is given."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from experiments.cli import main
from hwmodels import Gpu
from hwmodels.occupancy import occupancy
from simulator.trace.accelsim import architecture_warning, copies_of, load, load_list, remarks, resident
from simulator.trace.archive import load as load_archive
from simulator.trace.archive import save
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.info import mix
from tests.simulator.trace.accelsim.writer import FULL, LANES, Writer, copy_kernel, line


def run_of_two(folder: Path, **fields: object) -> Path:
    copy_kernel(2, 64, **fields).write(folder / "kernel-1.traceg")  # type: ignore[arg-type]
    copy_kernel(1, 32, stream=140737488355328, **fields).write(folder / "kernel-2-ctx_0x55.traceg.xz")  # type: ignore[arg-type]
    (folder / "kernelslist.g").write_text(
        "MemcpyHtoD,0x00007f0000000000,1024\n"
        "kernel-1.traceg\n"
        "MemcpyHtoD,0x00007f0100000000,256\n"
        "MemcpyHtoD,0x0000ffffffffff00,256\n"
        "kernel-2-ctx_0x55.traceg.xz"
    )
    return folder / "kernelslist.g"


def test_a_list(tmp_path: Path) -> None:
    run = load_list(run_of_two(tmp_path))
    assert len(run.kernels) == 2
    assert [header.grid for header in run.headers] == [(2, 1, 1), (1, 1, 1)]
    assert [kernel.stream for kernel in run.kernels] == [0, 1]
    assert run.copies == ((0, 0x7F0000000000, 1024), (1, 0x7F0100000000, 256), (1, 0xFFFFFFFFFF00, 256))
    assert run.kernels[0] is run.kernels[0]
    assert run.kernels[-1].grid == (1, 1, 1)
    assert copies_of(run.kernels[0]) == ((0x7F0000000000, 1024),)


def test_what_copies_leave_in_l2(tmp_path: Path) -> None:
    kernels = load_list(run_of_two(tmp_path)).kernels
    everything = ((0x7F0000000000, 1024), (0x7F0100000000, 256), (0xFFFFFFFFFF00, 256))
    assert resident(kernels, 1 << 20) == everything
    assert resident(kernels, 768) == ((0x7F0000000000 + 768, 256), *everything[1:])
    assert resident(kernels, 300) == ((0x7F0100000000 + 212, 44), everything[2])


def test_copies_survive_conversion_and_warm_the_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.trace.npz"
    assert main(["trace", "convert", str(run_of_two(tmp_path)), "--out", str(out)]) == 0
    back, kernels = load_archive(out), load_list(tmp_path / "kernelslist.g").kernels
    for one, other in zip(back, kernels, strict=True):
        assert list(expand(one)) == list(expand(other))
        assert (one.meta, one.stream, one.name) == (other.meta, other.stream, other.name)
    assert copies_of(back[1]) == ((0x7F0100000000, 256), (0xFFFFFFFFFF00, 256))
    capsys.readouterr()


def test_a_replay_finds_its_copies_in_l2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The two blocks of 64 threads read 512 bytes that were copied: no byte of them comes from DRAM."""
    listed = run_of_two(tmp_path)
    command = ["--gpu", "v100-sxm2-16gb", "--set", "gpu.scale=1/16", "--json"]
    read = {}
    for name in (str(listed), str(tmp_path / "kernel-1.traceg")):
        assert main(["replay", name, *command]) == 0
        read[name.endswith(".g")] = json.loads(capsys.readouterr().out)["kernels"][0]
    assert read[True]["warp_instructions"] == read[False]["warp_instructions"] == 24
    assert read[True]["time_us"] < read[False]["time_us"]


@pytest.mark.parametrize(("blocks", "turns"), [(8, 1), (40, 20)])
def test_conversion_is_ten_times_smaller(blocks: int, turns: int, tmp_path: Path) -> None:
    file = copy_kernel(blocks, 256, turns=turns).write(tmp_path / "kernel-1.traceg")
    path = save(load(file).kernels[0], tmp_path / "one.trace.npz", packed=True)
    assert 10 * path.stat().st_size <= file.stat().st_size
    (back,) = load_archive(path)
    assert list(expand(back)) == list(expand(load(file).kernels[0]))


def random_trace(path: Path, blocks: int, turns: int) -> None:
    """Loads from random addresses: about 300 bytes of text a line, patterns that never repeat."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        file.write(Writer((blocks, 1, 1), (64, 1, 1)).header())
        for block in range(blocks):
            file.write(f"\n#BEGIN_TB\n\nthread block = {block},0,0\n")
            for warp in range(2):
                file.write(f"\nwarp = {warp}\ninsts = {turns + 1}\n")
                for _ in range(turns):
                    steps = " ".join(map(str, (4 * rng.integers(-(1 << 24), 1 << 24, LANES - 1)).tolist()))
                    file.write(f"0000 ffffffff 1 R4 LDG.E 1 R2 4 2 0x7f0000000000 {steps} 0\n")
                file.write("0010 ffffffff 0 EXIT 0 0 0\n")
            file.write("\n#END_TB\n")


def test_what_a_random_trace_costs_goes_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simulator.trace.accelsim import body, patterns, reader, spill

    blocks, turns, path = 40, 50, tmp_path / "kernel-1.traceg"
    random_trace(path, blocks, turns)
    load(copy_kernel(1, 32).write(tmp_path / "kernel-2.traceg")).kernels[0].flat()
    for module, name, value in (
        (body, "REMEMBERED_SHAPES", 64),
        (patterns, "REMEMBERED", 64),
        (patterns, "FLUSHED_NUMBERS", 2048),
        (patterns, "MEMORY_BYTES", 2048),
        (spill, "MEMORY_BYTES", 2048),
        (reader, "PAGE_INSTRUCTIONS", 200),
    ):
        monkeypatch.setattr(module, name, value)
    tracemalloc.start()
    trace = load(path).kernels[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mix(trace) == {"LDG": blocks * 2 * turns, "EXIT": blocks * 2}
    assert peak < path.stat().st_size // 3
    check(trace)


def test_kernels_of_a_run_share_what_memory_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simulator.trace.accelsim import patterns, spill

    names = [f"kernel-{number}.traceg" for number in range(6)]
    for number, name in enumerate(names):
        copy_kernel(3, 64, turns=number + 1).write(tmp_path / name)
    (tmp_path / "kernelslist.g").write_text("\n".join(names))
    whole = [list(expand(kernel)) for kernel in load(tmp_path).kernels]
    monkeypatch.setattr(spill, "MEMORY_BYTES", 1500)
    monkeypatch.setattr(patterns, "MEMORY_BYTES", 0)
    run = load(tmp_path)
    kernels = list(run.kernels)
    assert [list(expand(kernel)) for kernel in reversed(kernels)] == whole[::-1]
    for kernel in kernels:
        check(kernel, full=True)


@pytest.mark.slow
def test_a_large_trace_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """About 90 MB of random addresses; a process with NumPy alone takes some 40 MB."""
    path = tmp_path / "kernel-1.traceg"
    random_trace(path, 60, 2500)
    program = (
        "import resource, sys; from simulator.trace.accelsim import load; load(sys.argv[1]).kernels[0];"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(ran.stdout) * unit < 200 << 20


def test_pages_on_disk_are_the_pages_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simulator.trace.accelsim import pages, patterns, reader, spill

    file = copy_kernel(12, 64, turns=3).write(tmp_path / "kernel-1.traceg")
    whole = list(expand(load(file).kernels[0]))
    monkeypatch.setattr(spill, "MEMORY_BYTES", 300)
    monkeypatch.setattr(patterns, "MEMORY_BYTES", 0)
    monkeypatch.setattr(pages, "OPEN_PAGES", 2)
    monkeypatch.setattr(reader, "PAGE_INSTRUCTIONS", 20)
    monkeypatch.setattr(patterns, "REMEMBERED", 2)
    monkeypatch.setattr(patterns, "FLUSHED_NUMBERS", 4)
    trace = load(file).kernels[0]
    assert trace.recording is not None
    assert len(trace.recording.pages) > 4
    check(trace, full=True)
    assert list(expand(trace)) == whole
    backwards = [one for block in reversed(range(12)) for one in whole if one.block == block]
    found = []
    for block in reversed(range(12)):
        for warp in range(2):
            cursor = trace.cursor(block, warp)
            while cursor.peek() >= 0:
                found.append((block, warp, cursor.peek(), cursor.mask()))
                cursor.advance()
    assert found == [(one.block, one.warp, one.static, one.mask) for one in backwards]


def test_another_architecture_is_warned_of(tmp_path: Path) -> None:
    volta, ampere, hopper = map(Gpu.from_card, ("v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm"))
    hmma = [line(0, FULL, "HMMA.16816.F32", [4], [8, 12, 16]), line(16, FULL, "EXIT")]
    run = load(Writer(binary=80, warps={((0, 0, 0), 0): hmma}).write(tmp_path / "kernel-1.traceg"))
    assert architecture_warning(run.kernels[0], ampere) is None
    assert architecture_warning(run.headers[0], ampere) is None
    words = architecture_warning(run.headers[0], hopper)
    assert words is not None
    assert "sm_80 (ampere)" in words
    assert "h100-sxm (sm_90, hopper)" in words
    words = architecture_warning(run.kernels[0], volta)
    assert words is not None
    assert words.endswith("the card has no HMMA_16816_F32")
    assert remarks(run.kernels, volta) == [f"Warning: {words}."]
    assert remarks(run.kernels, ampere) == []


@pytest.mark.parametrize(("registers", "blocks"), [(16, 8), (32, 8), (33, 6), (64, 4), (128, 2), (255, 1)])
def test_registers_limit_the_blocks_of_an_sm(registers: int, blocks: int, tmp_path: Path) -> None:
    """256 threads a block on a V100 of 65,536 registers, given out to a warp in pieces of 256."""
    trace = load(copy_kernel(1, 256, registers).write(tmp_path / "kernel-1.traceg")).kernels[0]
    gpu = Gpu.from_card("v100-sxm2-16gb")
    assert occupancy(gpu, trace.threads_per_block, trace.registers_per_thread, 0).blocks_per_sm == blocks


def test_warps_that_leave_before_a_barrier(tmp_path: Path) -> None:
    stays = [line(0, FULL, "S2R", [0]), line(16, FULL, "BAR.SYNC"), line(32, FULL, "EXIT")]
    leaves = [stays[0], line(8, FULL, "EXIT")]
    writer = Writer(block=(64, 1, 1), warps={((0, 0, 0), 0): stays, ((0, 0, 0), 1): leaves})
    trace = load(writer.write(tmp_path / "kernel-1.traceg")).kernels[0]
    assert trace.barriers == 1
    check(trace, full=True)

"""The two real Accel-Sim traces, against a count over their text that shares nothing with the reader."""

import lzma
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from experiments.cli import main
from hwmodels import Gpu
from simulator import replay
from simulator.machine.replay import ENGINES
from simulator.trace.accelsim import load
from simulator.trace.archive import load as load_archive
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.schema import LANES, KernelTrace

pytestmark = pytest.mark.external

NAMES = {"vectoradd": 344, "matrixmul": 4416}
CLASSES = {
    **{one: one for one in ("EXIT", "FADD", "FFMA", "NOP", "S2R", "MEMBAR", "LDG", "STG", "LDS", "STS")},
    **dict.fromkeys(("IADD", "IADD32I", "ISCADD", "SHL", "SHR"), "ALU"),
    "MOV": "MOVE",
    "BRA": "BRANCH",
    "BAR": "BARRIER",
    "XMAD": "IMAD",
    "ISETP": "PREDICATE",
}
MEMORY = re.compile(r"(LDG|STG|LDS|STS)(?:\.[A-Z]+)*(?:\.(\d+))? \d .* 1 0x([0-9a-f]+) (-?\d+) $")


class Text:
    """Counts over the lines of a trace: classes, lanes of EXIT, and for each access its bytes and sectors."""

    def __init__(self, path: Path) -> None:
        self.mix: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.sectors: Counter[str] = Counter()
        self.lines = 0
        for text in path.read_text().splitlines():
            match = re.match(r"[0-9a-f]{4} ([0-9a-f]{8}) (?:0|1 R\d+) ([A-Z0-9]+)", text)
            if not match:
                continue
            self.lines += 1
            self.mix[CLASSES[match[2]]] += 1
            access = MEMORY.search(text)
            if access:
                lanes = [lane for lane in range(LANES) if int(match[1], 16) >> lane & 1]
                width = int(access[2] or 32) // 8
                first, stride = int(access[3], 16), int(access[4])
                touched = {
                    (first + stride * (lane - lanes[0]) + byte) // 32
                    for lane in lanes
                    for byte in range(width)
                }
                self.bytes[access[1]] += width * len(lanes)
                self.sectors[access[1]] += len(touched)


def of_trace(trace: KernelTrace) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """The same three counts, walking the trace."""
    mix: Counter[str] = Counter()
    total: Counter[str] = Counter()
    sectors: Counter[str] = Counter()
    instructions = trace.flat().instructions
    for one in expand(trace):
        instruction = instructions[one.static]
        name = instruction.operation.name
        mix[name] += 1
        if one.addresses is not None:
            lanes = [lane for lane in range(LANES) if one.mask >> lane & 1]
            total[name] += instruction.bytes_per_lane * len(lanes)
            sectors[name] += len(
                {
                    (one.addresses[lane] + byte) // 32
                    for lane in lanes
                    for byte in range(instruction.bytes_per_lane)
                }
            )
    return mix, total, sectors


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(name: str, shared_folder: Path) -> Path:
    found = shared_folder / "inputs" / "accelsim" / name
    if not found.is_dir():
        pytest.skip(f"no trace {name} beside the facts")
    return found


def test_mix_sectors_and_bytes_are_those_of_the_text(name: str, folder: Path) -> None:
    text = Text(folder / "kernel-1.traceg")
    assert text.lines == NAMES[name]
    (trace,) = load(folder).kernels
    check(trace, full=True)
    assert of_trace(trace) == (text.mix, text.bytes, text.sectors)
    assert trace.threads_per_block == 1024


def test_conversion_is_exact_and_ten_times_smaller(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "one.trace.npz"
    assert main(["trace", "convert", str(folder / "kernelslist.g"), "--out", str(out)]) == 0
    assert 10 * out.stat().st_size <= (folder / "kernel-1.traceg").stat().st_size
    (trace,) = load(folder).kernels
    (back,) = load_archive(out)
    assert list(expand(back)) == list(expand(trace))


def test_every_instruction_is_replayed_once_and_engines_agree(name: str, folder: Path) -> None:
    text = Text(folder / "kernel-1.traceg")
    gpu = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
    results = [replay(load(folder).kernels, gpu, engine, keep_requests=True) for engine in ENGINES]
    for result in results:
        assert result.kernels.iloc[0]["warp_instructions"] == text.lines == NAMES[name]
        for table in ("kernels", "stalls", "traffic", "latency"):
            assert getattr(result, table).equals(getattr(results[0], table))


def test_the_packed_file_is_the_plain_one(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "kernel-1.traceg.xz"
    packed.write_bytes(lzma.compress((folder / "kernel-1.traceg").read_bytes()))
    assert list(expand(load(packed).kernels[0])) == list(expand(load(folder).kernels[0]))


def test_reading_is_not_slower_than_replaying(shared_folder: Path) -> None:
    folder = shared_folder / "inputs" / "accelsim" / "matrixmul"
    gpu = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
    started = time.process_time()
    (trace,) = load(folder).kernels
    read = time.process_time() - started
    replay([trace], gpu, "reference")
    assert read < time.process_time() - started - read

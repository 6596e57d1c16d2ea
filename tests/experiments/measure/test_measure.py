"""`stallscope measure` as far as it goes without a GPU: sources compile, output becomes rows."""

import csv
import io
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.measure import device
from experiments.measure.build import GROUPS, SOURCES, build
from experiments.measure.rows import COLUMNS, board, parse, table
from hwmodels import Gpu
from hwmodels.errors import InputError

DATA = Path(__file__).parents[3] / "experiments" / "data"
OUTPUT = "\n".join(
    [
        "device\tNVIDIA A100-SXM4-40GB\t8.0\t108\t1410",
        "row\tobs.sm_clock\t1410\tMHz\tall SMs spinning",
        "row\tlat.chase.l1\t33.1\tcycles\trandom pointer chase, footprint 32 kB, clock 1410 MHz",
        "row\ttime.launch_stream\t2.25\tus\tempty kernel",
        "end",
        "",
    ]
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("no nvcc on this machine")
    return build(compiler, (8, 0), tmp_path_factory.mktemp("measure"))


def test_the_sources_compile_and_say_when_there_is_no_gpu(program: Path) -> None:
    try:
        device.find_gpu()
    except InputError:
        done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 3
        assert len(done.stderr.strip().splitlines()) == 1


def test_what_does_not_compile_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'x.cu(3): error: no such thing' >&2\nexit 1\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(InputError, match=r"x\.cu\(3\): error: no such thing"):
        build(str(compiler), (8, 0), tmp_path)


def test_output_becomes_rows_with_the_columns_of_the_facts() -> None:
    measured = parse(OUTPUT, "here")
    assert (measured.gpu, measured.sm_count, measured.clock_mhz) == ("A100 SXM4 40GB", 108, 1410)
    rows = list(csv.DictReader(io.StringIO(table(measured.rows))))
    with (DATA / "published_measurements.csv").open(newline="") as file:
        assert csv.DictReader(file).fieldnames == list(COLUMNS) == list(rows[0])
    assert rows[1]["value"] == "33.1"
    assert rows[1]["conditions"].endswith("footprint 32 kB, clock 1410 MHz")
    assert {row["source"] for row in rows} == {"here"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "breaks off"),
        (OUTPUT.replace("end\n", ""), "breaks off"),
        (OUTPUT.replace("device\t", "card\t"), "no line that names the device"),
        (OUTPUT.replace("\tcycles\t", "\t"), "is no row"),
        (OUTPUT.replace("33.1", "nan"), "'nan' is no measurement"),
        (OUTPUT.replace("33.1", "-1"), "'-1' is no measurement"),
        (OUTPUT.replace("33.1", "fast"), "'fast' is no measurement"),
    ],
)
def test_half_a_measurement_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse(text, "here")


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
    ],
)
def test_devices_are_the_boards_that_validate_knows(name: str, card: str) -> None:
    from experiments.validation.boards import card_of

    assert card_of(board(name)) == card


def test_validate_reads_every_quantity_that_is_measured() -> None:
    """Names in the sources, with their numbers filled in, against the grammar of measurements."""
    from experiments.validation.bandwidth_quantities import bandwidth_request
    from experiments.validation.latency_quantities import latency_request
    from experiments.validation.measurements import Measurement
    from experiments.validation.request import Request

    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*.cu")))
    quoted = [piece for number, piece in enumerate(text.split('"')) if number % 2]
    names = {one for one in quoted if one.split(".")[0] in {"lat", "bw", "tput", "time"} and "." in one}
    assert len(names) > 20
    gpu = Gpu.from_card("a100-sxm-40gb")
    for name in sorted(names):
        quantity = name.replace("%dblk", "108blk").replace("%dthr", "32thr").replace("%d", "2")
        row = Measurement("mine.csv:2", "A100", quantity, 1.0, "cycles", "footprint 32 kB", "here", "high")
        read = latency_request if quantity.startswith("lat.") else bandwidth_request
        assert isinstance(read(row, gpu), Request), quantity


def test_groups_are_those_of_the_program() -> None:
    text = (SOURCES / "main.cu").read_text()
    assert all(f'{{"{group}", measure_' in text for group in GROUPS)


def test_without_driver_or_compiler_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "LIBRARIES", ())
    assert main(["measure"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: measure: no NVIDIA driver")
    assert error.count("\n") == 1
    monkeypatch.setattr("experiments.measure.device.find_gpu", lambda: device.RealGpu("x", (8, 0)))
    monkeypatch.setenv("PATH", "")
    assert main(["measure"]) == 2
    assert capsys.readouterr().err.startswith("error: measure: no nvcc")


class Driver:
    """A driver with one GPU, as the program would see it."""

    def cuInit(self, _: int) -> int:  # noqa: N802
        return 0

    def cuDeviceGetCount(self, count: object) -> int:  # noqa: N802
        count._obj.value = 1  # type: ignore[attr-defined]
        return 0

    def cuDeviceGet(self, _: object, __: int) -> int:  # noqa: N802
        return 0

    def cuDeviceGetName(self, name: object, _: int, __: object) -> int:  # noqa: N802
        name.value = b"NVIDIA A100-SXM4-40GB"  # type: ignore[attr-defined]
        return 0

    def cuDeviceGetAttribute(self, number: object, attribute: int, _: object) -> int:  # noqa: N802
        number._obj.value = {75: 8, 76: 0}[attribute]  # type: ignore[attr-defined]
        return 0


def test_the_whole_way_with_a_stand_in_for_gpu_and_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stand-in compiler checks its options and writes a program that prints fixed output."""
    compiler = tmp_path / "bin" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text(
        "#!/bin/sh\n"
        '[ "$3" = "-arch=sm_80" ] || exit 1\n'
        "printf '#!/bin/sh\\ncat <<X\\n%s\\nX\\n' \"$(cat " + str(tmp_path / "output") + ')" > "$5"\n'
        'chmod +x "$5"\n'
    )
    compiler.chmod(0o755)
    (tmp_path / "output").write_text(OUTPUT.rstrip("\n"))
    monkeypatch.setenv("PATH", str(compiler.parent), prepend=":")
    monkeypatch.setattr(device, "_driver", Driver)
    out = tmp_path / "mine.csv"
    assert main(["measure", "--what", "chases", "--out", str(out)]) == 0
    assert out.read_text().splitlines()[2].startswith("A100 SXM4 40GB,lat.chase.l1,33.1,cycles,")
    assert "3 rows in" in capsys.readouterr().err

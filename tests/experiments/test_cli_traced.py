"""Traces of Accel-Sim's tracer on the command line: what works ends with 0, what is wrong in one line."""

import json
from pathlib import Path

import pytest

from experiments.cli import main
from tests.simulator.trace.accelsim.writer import FULL, Writer, copy_kernel, line


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    copy_kernel(3, 64).write(tmp_path / "kernel-1.traceg.xz")
    (tmp_path / "kernelslist.g").write_text("MemcpyHtoD,0x00007f0000000000,768\nkernel-1.traceg.xz\n")
    return tmp_path / "kernelslist.g"


def document(argv: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(argv) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_info_and_check(listed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (listed, listed.parent, listed.parent / "kernel-1.traceg.xz"):
        (kernel,) = document(["trace", "info", str(name), "--json"], capsys)["kernels"]  # type: ignore[misc]
        assert kernel["mix"] == {"S2R": 6, "IMAD": 6, "LDG": 6, "STG": 6, "BRANCH": 6, "EXIT": 6}
        assert document(["trace", "check", str(name), "--json"], capsys)["sound"] is True


def test_replay_warns_and_says_what_is_in_l2(listed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(listed), "--gpu", "a100-sxm-40gb", "--set", "gpu.scale=1/4"]) == 0
    out = capsys.readouterr().out
    assert "traced for sm_70 (volta), replayed on a100-sxm-40gb" in out
    assert "leave 768 bytes in L2" in out


@pytest.mark.parametrize("command", [["trace", "info"], ["trace", "check"], ["replay"]])
@pytest.mark.parametrize("damage", ["0050 ffffffff 0 EXIT", "-nregs = 16\n", "IMAD.WIDE"])
def test_a_bad_trace_is_one_line(
    command: list[str], damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel-1.traceg"
    file.write_text(copy_kernel(1, 32).text().replace(damage, "", 1))
    assert main([*command, str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = [text for text in err.splitlines() if not text.startswith("checking")]
    assert line.startswith(f"error: {file}:")
    assert "; " in line


def test_a_class_for_unknown_opcodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = Writer(warps={((0, 0, 0), 0): [line(0, FULL, "NEWOP", [4], [2]), line(16, FULL, "EXIT")]})
    file = str(writer.write(tmp_path / "kernel-1.traceg"))
    assert main(["trace", "info", file]) == 2
    number = writer.text().split("NEWOP")[0].count("\n") + 1
    assert f"kernel-1.traceg:{number}: unknown volta opcode 'NEWOP'" in capsys.readouterr().err
    assert main(["trace", "info", file, "--unknown-opcodes", "FADD", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["kernels"][0]["mix"] == {"FADD": 1, "EXIT": 1}
    assert "note: NEWOP: unknown, counted as FADD as asked" in err

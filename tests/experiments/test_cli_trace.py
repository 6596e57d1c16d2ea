"""`stallscope trace`: facts are those the trace was built with, a copy is the same, bad files are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from hwmodels.operations import Operation
from simulator.trace.archive import save
from simulator.trace.builder import KernelBuilder

BLOCKS, WARPS, TRIPS = 6, 4, 10


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    kernel = KernelBuilder(
        "sums", grid=BLOCKS, block=32 * WARPS, registers_per_thread=24, shared_bytes_per_block=512
    )
    with kernel.loop(TRIPS):
        kernel.emit(Operation.FADD, 2, (2, 3))
    return save(kernel.build(), tmp_path / "sums.trace.npz")


def document(argv: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(argv) == 0
    return json.loads(capsys.readouterr().out)


def test_info_has_the_keys_of_the_interface(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel,) = document(["trace", "info", str(trace_file), "--json"], capsys)["kernels"]
    assert kernel["name"] == "sums"
    assert kernel["grid"] == [BLOCKS, 1, 1]
    assert kernel["block"] == [32 * WARPS, 1, 1]
    assert kernel["registers_per_thread"] == 24
    assert kernel["shared_bytes_per_block"] == 512
    assert kernel["mix"]["FADD"] == BLOCKS * WARPS * TRIPS
    assert kernel["mix"]["EXIT"] == BLOCKS * WARPS
    assert kernel["warp_instructions"] == sum(kernel["mix"].values())


def test_info_in_words(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "info", str(trace_file)]) == 0
    out = capsys.readouterr().out
    assert "sums: grid 6×1×1, block 128×1×1, 24 registers a thread, 512 bytes" in out
    assert "FADD" in out


def test_check_walks_all_of_it(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel,) = document(["trace", "check", str(trace_file), "--json"], capsys)["kernels"]
    (facts,) = document(["trace", "info", str(trace_file), "--json"], capsys)["kernels"]
    assert kernel == {"name": "sums", "sound": True, "walked": facts["warp_instructions"], "complete": True}


def test_a_converted_trace_is_the_same_trace(
    trace_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.trace.npz"
    written = document(["trace", "convert", str(trace_file), "--out", str(copy), "--json"], capsys)
    assert written == {"file": str(copy), "bytes": copy.stat().st_size, "kernels": ["sums"]}
    assert copy.read_bytes() == trace_file.read_bytes()


def test_a_broken_file_is_one_line(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace_file.write_bytes(trace_file.read_bytes()[:-100])
    assert main(["trace", "info", str(trace_file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {trace_file}: ")
    assert err.count("\n") == 1


def test_a_shipped_kernel_is_a_trace_too(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = document(["trace", "info", "kernel:copy,megabytes=4", "--json"], capsys)["kernels"]
    assert all(kernel["warp_instructions"] > 0 for kernel in kernels)

"""Nsight Compute tables: both pages, units, noise; what is refused; ours written and read back."""

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.profiles.nsight import base_unit, number_of, read_nsight
from experiments.profiles.nsight_compare import launch_row, matched, metric_rows
from experiments.profiles.nsight_names import NAMES
from experiments.profiles.nsight_write import nsight_csv
from experiments.profiles.opened import read_profile
from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator.statistics.phases import STATE_NAMES

COMMON = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name",'
    '"Context","Stream","Block Size","Grid Size","Device","CC"'
)
START = (
    '"{number}","77","app","host","scale<float, 4>(float*, ""x"")",'
    '"1","7","(256, 1, 1)","(1,024, 1, 1)","0","8.0"'
)
DETAILS = "\n".join(
    [
        "==PROF== Connected to process 77 (/opt/app)",
        'said "hello, and left the quote open',
        f'{COMMON},"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"',
        START.format(number=0) + ',"GPU Speed Of Light Throughput","Duration","usecond","1,234.50",',
        START.format(number=0) + ',"GPU Speed Of Light Throughput","Memory Throughput","%","61.5",',
        START.format(number=0) + ',"Memory Workload Analysis","Memory Throughput","Gbyte/second","1,000.25",',
        START.format(number=0) + ',"Launch Statistics","Registers Per Thread","register/thread","32",',
        START.format(number=0) + ',"Launch Statistics","Function Cache Configuration","","CachePreferNone",',
        START.format(number=0) + ',"SpeedOfLight","","","","SOLBottleneck"',
        START.format(number=1) + ',"GPU Speed Of Light Throughput","Duration","nsecond","900",',
        "==PROF== Disconnected from process 77",
        "",
    ]
)
RAW = "\n".join(
    [
        "program output, with, commas",
        f'{COMMON},"dram__bytes_read.sum","gpu__time_duration.sum","launch__registers_per_thread"',
        '"","","","","","","","","","","","Mbyte","us","register/thread"',
        START.format(number=0) + ',"67.108864","51.25","32"',
        START.format(number=1) + ',"1,000","2","40"',
        "",
    ]
)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "profile.csv"
    path.write_text(text)
    return path


def test_details_page(tmp_path: Path) -> None:
    first, second = read_nsight(write(tmp_path, DETAILS))
    assert first.name == 'scale<float, 4>(float*, "x")'
    assert (first.block, first.grid, first.capability) == ((256, 1, 1), (1024, 1, 1), "8.0")
    assert first.value("Duration") == 1_234_500
    assert second.value("Duration") == 900
    assert first.value("Memory Throughput", unit="%") == 61.5
    assert first.value("Memory Throughput", unit="byte/s") == 1_000.25e9
    assert first.metrics["Function Cache Configuration", ""].text == "CachePreferNone"
    assert first.value("Function Cache Configuration") is None


def test_raw_page(tmp_path: Path) -> None:
    first, second = read_nsight(write(tmp_path, RAW))
    assert first.value("dram__bytes_read.sum") == 67_108_864
    assert first.value("gpu__time_duration.sum") == 51_250
    assert second.value("dram__bytes_read.sum") == 1e9
    assert second.value("launch__registers_per_thread") == 40


def test_line_ends_and_quoted_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "dos.csv"
    path.write_bytes(DETAILS.replace("\n", "\r\n").replace('""x""', '""x\r\ny""').encode())
    first, _ = read_nsight(path)
    assert first.name == 'scale<float, 4>(float*, "x  y")'


@pytest.mark.parametrize(
    ("unit", "base", "factor"),
    [
        ("msecond", "ns", 1e6),
        ("Gbyte/second", "byte/s", 1e9),
        ("Kbyte/block", "byte/block", 1e3),
        ("cycle/nsecond", "hz", 1e9),
        ("Ghz", "hz", 1e9),
        ("inst/cycle", "inst/cycle", 1),
        ("", "", 1),
    ],
)
def test_units(unit: str, base: str, factor: float) -> None:
    assert base_unit(unit) == (base, factor)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234,567.5", 1_234_567.5), ("1e3", 1000), ("12,34", None), ("all", None), ("-0.5", -0.5), ("", None)],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number_of("here", text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no header"),
        ("nothing here\n", "no header"),
        (DETAILS.split("\n")[2] + "\n", "no kernel"),
        (DETAILS.replace('"1,234.50"', '"nan"'), "nan is no measurement"),
        (DETAILS.replace('"1,234.50"', '"1e999"'), "beyond any measurement"),
        (DETAILS.replace('"(256, 1, 1)"', '"(2560, 1, 1)"'), "can be launched"),
        (DETAILS.replace('"(256, 1, 1)"', '"wide"'), "is no extent"),
        (DETAILS.replace('"Metric Value",', ""), "no column Metric Value"),
        (
            DETAILS.replace('"Metric Name"', '" Metric Name"').replace('"Metric Value",', ""),
            "no column Metric Value",
        ),
        (DETAILS.replace('"Metric Unit"', '"CC"'), "stands twice"),
        (DETAILS.replace('"usecond","1,234.50",', '"usecond'), "not closed"),
        (RAW.replace('"51.25","32"', '"51.25","32","9"'), "cells below a header"),
    ],
)
def test_broken_tables_are_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_nsight(write(tmp_path, text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([DETAILS, RAW]),
    st.lists(st.tuples(st.integers(0, 5000), st.sampled_from('",\n\r()0-9eN \x00=')), max_size=5),
    st.integers(0, 5000),
)
def test_damaged_tables_give_kernels_or_one_line(
    tmp_path: Path, text: str, edits: list[tuple[int, str]], cut: int
) -> None:
    characters = list(text)
    for place, character in edits:
        characters[place % len(characters)] = character
    path = write(tmp_path, "".join(characters)[: cut or None])
    try:
        kernels, complaint = len(read_nsight(path)), str(path)
    except InputError as error:
        kernels, complaint = 1, str(error)
    assert kernels
    assert complaint.startswith(str(path))
    assert "\n" not in complaint


ROW: dict[str, Any] = {
    "kernel": "copy,x=1",
    "stream": 0,
    "grid_blocks": 8192,
    "threads_per_block": 256,
    "registers_per_thread": 28,
    "shared_bytes_per_block": 0,
    "blocks_per_sm": 8,
    "theoretical_occupancy_pct": 100.0,
    "achieved_occupancy_pct": 87.123456789,
    "cycles": 123_457,
    "dram_throughput_pct": 81.5,
    "dram_read_bytes": 33_554_432,
    "dram_write_bytes": 12_345_600,
    "l1_hit_pct": 0.0,
    "l2_hit_pct": float("nan"),
    "ipc": 0.123,
    "warp_instructions": 1_000_000,
    "warp_cycles_by_state": {state: 1000 * place for place, state in enumerate(STATE_NAMES)},
}


@pytest.mark.parametrize("page", ["details", "raw"])
def test_ours_written_in_their_form_are_read_back_the_same(tmp_path: Path, page: str) -> None:
    gpu = Gpu.from_card("a100-sxm-40gb")
    path = write(tmp_path, nsight_csv([(ROW, gpu), ({**ROW, "kernel": "again"}, gpu)], page))
    first, second = read_nsight(path)
    assert (first.name, second.name) == ("copy,x=1", "again")
    assert (first.grid, first.block, first.capability) == ((8192, 1, 1), (256, 1, 1), "8.0")
    for name in NAMES:
        ours = name.of(ROW, gpu)
        theirs = first.value(name.details if page == "details" else name.raw, unit=base_unit(name.unit)[0])
        assert theirs == ours, name.details
    rows = metric_rows(first, gpu, ROW)
    assert rows
    assert all(one["theirs"] == pytest.approx(one["ours"]) for one in rows)
    with path.open() as file:
        assert len({len(row) for row in csv.reader(file)}) == 1


def test_the_launch_alone_gives_occupancy(tmp_path: Path) -> None:
    kernel = read_nsight(write(tmp_path, RAW))[0]
    row = launch_row(kernel, Gpu.from_card("a100-sxm-40gb"))
    assert (row["blocks_per_sm"], row["theoretical_occupancy_pct"]) == (8, 100.0)


def test_other_launches_do_not_match(tmp_path: Path) -> None:
    kernels = read_nsight(write(tmp_path, RAW))
    right = {"kernel": "k", "threads_per_block": 256, "grid_blocks": 1024}
    assert matched(kernels, [right, right], "folder") == [right, right]
    with pytest.raises(InputError, match="measured was 1024 x 256"):
        matched(kernels, [right, {**right, "grid_blocks": 7}], "folder")
    with pytest.raises(InputError, match="1 kernels, where 2 were measured"):
        matched(kernels, [right], "folder")


def test_traces_and_tables_are_told_apart(tmp_path: Path) -> None:
    assert isinstance(read_profile(write(tmp_path, DETAILS)), list)
    with pytest.raises(InputError, match="no traceEvents"):
        read_profile(write(tmp_path, "\n {}"))
    with pytest.raises(InputError, match="is empty"):
        read_profile(write(tmp_path, " \n"))

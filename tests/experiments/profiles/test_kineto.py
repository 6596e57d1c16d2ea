"""The reader of PyTorch profiler traces: what it finds, and what it refuses with which words."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.profiles.kineto import read_kineto
from experiments.profiles.limits import DEFAULT_LIMITS
from hwmodels.errors import InputError

from .conftest import DOCUMENT

Write = Callable[[Any], Path]


def test_kernels_come_with_launches_and_operators(document: dict[str, Any], write: Write) -> None:
    profile = read_kineto(write(document))
    add, relu = profile.kernels
    assert (add.grid, add.block, add.registers, add.duration_ns) == ((2048, 1, 1), (128, 1, 1), 40, 20_000)
    assert add.operator is not None
    assert add.launch is not None
    assert add.operator.name == "aten::add_"
    assert add.operator.shapes == ((4, 64, 32, 64), (1, 64, 1, 1))
    assert add.launch.start_ns == 110_000
    assert relu.operator is not None
    assert relu.operator.name == "aten::clamp_min_"
    assert profile.copies == 1
    assert profile.devices[0].capability == "8.0"


def test_an_operator_without_shapes_takes_those_around_it(document: dict[str, Any], write: Write) -> None:
    outer, inner = document["traceEvents"][3:5]
    outer["args"] |= {"Input Dims": [[8, 8]], "Input type": ["float"]}
    del inner["args"]["Input Dims"], inner["args"]["Input type"]
    relu = read_kineto(write(document)).kernels[1]
    assert relu.operator is not None
    assert (relu.operator.name, relu.operator.shapes) == ("aten::clamp_min_", ((8, 8),))


def test_kernels_of_a_graph_have_no_operator(document: dict[str, Any], write: Write) -> None:
    document["traceEvents"][5]["name"] = "cudaGraphLaunch"
    add, relu = read_kineto(write(document)).kernels
    assert add.operator is not None
    assert relu.operator is None


def test_old_category_names_and_the_bare_list(document: dict[str, Any], write: Write) -> None:
    old = {"kernel": "Kernel", "cuda_runtime": "Runtime", "cpu_op": "Operator", "gpu_memset": "Memset"}
    for event in document["traceEvents"]:
        if event.get("cat") in old:
            event["cat"] = old[event["cat"]]
            if "External id" in event["args"]:
                event["args"]["external id"] = event["args"].pop("External id")
    profile = read_kineto(write(document["traceEvents"]))
    names = [one.operator.name for one in profile.kernels if one.operator]
    assert names == ["aten::add_", "aten::clamp_min_"]
    assert profile.copies == 1
    assert not profile.devices


def test_fractions_of_microseconds(document: dict[str, Any], write: Write) -> None:
    document["traceEvents"][8] |= {"ts": 1419247333430.849, "dur": 3.136}
    kernel = read_kineto(write(document)).kernels[1]
    assert (kernel.start_ns, kernel.duration_ns) == (1_419_247_333_430_849, 3136)


def test_gzip_is_told_from_its_first_bytes(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "trace.dat"
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert len(read_kineto(path).kernels) == 2


def test_pieces_of_any_size_give_the_same(
    document: dict[str, Any], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(json.dumps(document, indent=1).replace("python", "pythön \\u00e9"))
    whole = read_kineto(path)
    for size in (1, 2, 7, 64):
        monkeypatch.setattr("experiments.profiles.text_stream.PIECE_BYTES", size)
        assert read_kineto(path) == whole


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("registers per thread", None, "registers per thread"),
        ("registers per thread", 0, "is not a whole number from 1"),
        ("grid", [1, 1], "three whole numbers"),
        ("grid", [1, 1, 65536], "three whole numbers"),
        ("block", [1024, 2, 1], "2048 threads a block; at most 1024"),
        ("block", [True, 1, 1], "three whole numbers"),
        ("stream", "7", "is not a whole number"),
        ("correlation", 1.5, "is not a whole number"),
        ("est. achieved occupancy %", "much", "is not a finite number"),
        ("est. achieved occupancy %", 10**400, "is not a finite number"),
    ],
)
def test_a_wrong_field_is_named(
    document: dict[str, Any], write: Write, key: str, value: Any, words: str
) -> None:
    args = document["traceEvents"][8]["args"]
    if value is None:
        del args[key]
    else:
        args[key] = value
    with pytest.raises(InputError) as caught:
        read_kineto(write(document))
    text = str(caught.value)
    assert f"trace.json:traceEvents[8].args.{key}" in text
    assert words in text
    assert "\n" not in text


@pytest.mark.parametrize("time", ["soon", -1, 1e300, None])
def test_a_wrong_time_is_named(document: dict[str, Any], write: Write, time: Any) -> None:
    document["traceEvents"][8]["ts"] = time
    with pytest.raises(InputError, match=r"traceEvents\[8\]\.ts"):
        read_kineto(write(document))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the text ends here"),
        ("{}", "no traceEvents"),
        ('{"traceEvents": []}', "no kernel"),
        ('{"traceEvents": [], "traceEvents": []}', "stands twice"),
        ('{"traceEvents": [1]}', "no object"),
        ('{"traceEvents": [{}]} x', "more text after the end"),
        ('{"traceEvents": [{"ts": NaN}]}', "NaN is no number"),
        ('{"traceEvents": [{"ts": -Infinity}]}', "-Infinity is no number"),
        ('{"traceEvents": [{"ts": ' + "9" * 5000 + "}]}", "a number of thousands of digits"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "nested deeper than 64"),
        ('{"a": ' + "[" * 100_000, "nested deeper than 64"),
        ('{"a" 1}', "':'"),
        ('{"deviceProperties": 3}', "no list"),
        (
            (
                '{"deviceProperties": [{"id": 0, "name": "x", "computeMajor": "8", '
                '"computeMinor": 0, "numSms": 1}]}'
            ),
            "computeMajor",
        ),
    ],
)
def test_what_is_no_trace_is_refused(write: Write, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_kineto(write(text))
    assert words in str(caught.value)


def test_limits(document: dict[str, Any], write: Write) -> None:
    path = write(document)
    for name, value in (
        ("events", 3),
        ("kernels", 1),
        ("operators", 1),
        ("total_bytes", 1000),
        ("value_characters", 200),
        ("depth", 1),
    ):
        with pytest.raises(InputError):
            read_kineto(path, replace(DEFAULT_LIMITS, **{name: value}))


def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (32 << 20)))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_kineto(path)


def test_every_truncation_is_refused_in_one_line(document: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps(document).encode()
    packed = gzip.compress(text)
    path = tmp_path / "cut.json"
    for data, cuts in ((text, range(0, len(text), 7)), (packed, range(len(packed)))):
        for cut in cuts:
            path.write_bytes(data[:cut])
            with pytest.raises(InputError) as caught:
                read_kineto(path)
            assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(json.dumps(document).encode().replace(b"python", b"pyth\xff"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_kineto(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 4000), st.sampled_from('{}[],:"0-9eE.nt\\ \n\x00')), max_size=6))
def test_damaged_traces_give_a_profile_or_one_line(tmp_path: Path, edits: list[tuple[int, str]]) -> None:
    text = list(json.dumps(DOCUMENT))
    for place, character in edits:
        text[place % len(text)] = character
    path = tmp_path / "damaged.json"
    path.write_text("".join(text))
    try:
        kernels, complaint = len(read_kineto(path).kernels), str(path)
    except InputError as error:
        kernels, complaint = 1, str(error)
    assert kernels
    assert complaint.startswith(str(path))
    assert "\n" not in complaint

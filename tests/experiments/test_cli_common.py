"""What commands share: `--set` values, JSON that any reader accepts, tables, progress."""

import enum
import io
import json
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cli import progress
from experiments.cli.common import parse_settings, print_json, print_table
from hwmodels.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("1/16", "1/16"),
        ("null", None),
        ("0.5", 0.5),
        ("gto", "gto"),
        ("[none, vertical]", ["none", "vertical"]),
        ("a=b", "a=b"),
        ("", None),
        ("true", True),
    ],
)
def test_set_values_are_yaml_scalars_or_lists(text: str, value: Any) -> None:
    assert parse_settings([f"gpu.x={text}"]) == {"gpu.x": value}


def test_the_last_of_two_settings_counts() -> None:
    assert parse_settings(["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "=1",
        "x={a: 1}",
        "x=[[1]]",
        "x=!!python/object:os.system 1",
        "x=[&a 1, *a]",
        "x=.nan",
        "x=[.inf]",
        "x=[1",
        "x=2024-01-01",
        "x=" + "[" * 5000,
        "x=" + "1" * 10_001,
    ],
)
def test_bad_settings_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_settings([text])
    assert "\n" not in str(caught.value)


class Colour(enum.IntEnum):
    RED = 1


def test_json_is_plain_whatever_it_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(
        {"a": np.int64(3), "b": (np.float64("nan"), math.inf), "c": Fraction(1, 4), "d": Colour.RED, 5: {"x"}}
    )
    assert json.loads(capsys.readouterr().out) == {
        "a": 3,
        "b": [None, None],
        "c": "1/4",
        "d": "RED",
        "5": ["x"],
    }


@given(st.lists(st.tuples(st.text("abc é", max_size=8), st.integers()), max_size=5))
def test_tables_align_and_lose_nothing(rows: list[tuple[str, int]]) -> None:
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        print_table(["word", "number"], rows)
        lines = sys.stdout.getvalue().splitlines()
    finally:
        sys.stdout = stdout
    assert len(lines) == len(rows) + 1
    assert all(line == line.rstrip() for line in lines)
    assert len({len(line) for line in lines[1:]}) <= 1
    assert all(line.endswith(str(number)) for line, (_, number) in zip(lines[1:], rows, strict=True))


def test_progress_goes_to_standard_error_and_not_too_often(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 5.0, 10.0, 10.5, 25.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.Progress("replay") as shown:
        for step in range(4):
            shown.update(f"kernel {step}", step / 4)
    out, err = capsys.readouterr()
    assert out == ""
    said = ["replay: 25 % kernel 1, about 30 s left", "replay: 75 % kernel 3, about 8 s left"]
    assert err.splitlines() == said


def test_time_left_follows_the_rate_and_is_not_said_too_early() -> None:
    assert progress.time_left(10, None) == progress.time_left(10, 0.001) == progress.time_left(10, 1.0) == ""
    assert progress.time_left(60, 0.5) == ", about 60 s left"
    assert progress.time_left(60, 0.1) == ", about 9 min left"
    assert progress.time_left(3600, 0.2) == ", about 4.0 h left"

"""A result folder: refused before the run when it can't be used, complete after it, and readable again."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest
import yaml

from experiments.folder import finite, prepare, read, write
from experiments.summary import summary_of
from hwmodels.errors import InputError
from simulator.statistics.result import Result
from simulator.statistics.tables import TABLES


def fill(folder: Path, results: list[Result]) -> None:
    config = {"name": "x", "gpu": ["paper-gpu"]}
    write(folder, results, config, summary_of(results, config, [], 1.0), {"paper-gpu": {"sm_count": 2}})


def test_written_files_and_what_is_in_them(tmp_path: Path, two_results: list[Result]) -> None:
    folder = prepare(tmp_path / "a" / "b")
    fill(folder, two_results)
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.yaml", "summary.json", "raw.json", "cards", *(f"{name}.csv" for name in TABLES)}
    assert yaml.safe_load((folder / "config.yaml").read_text()) == {"name": "x", "gpu": ["paper-gpu"]}
    kernels = pd.read_csv(folder / "kernels.csv")
    assert list(kernels["variant"]) == ["none", "none", "vertical"]
    assert json.loads((folder / "summary.json").read_text())["gpus"]["paper-gpu"]["winner"] == "vertical"
    assert [result.variant for result in read(folder)] == ["none", "vertical"]
    assert read(folder)[1].record == two_results[1].record


def test_a_second_run_replaces_the_first(tmp_path: Path, two_results: list[Result]) -> None:
    fill(prepare(tmp_path), two_results)
    fill(prepare(tmp_path), two_results[:1])
    assert [result.variant for result in read(tmp_path)] == ["none"]


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds something other than results"):
        prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        prepare(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be written"):
        prepare(tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        prepare(tmp_path / "new")


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)


def test_numbers_that_json_lacks_become_null() -> None:
    assert finite({"a": [float("nan"), 1.5], 2: float("inf")}) == {"a": [None, 1.5], "2": None}


def test_a_sweeps_folder_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "sweep.csv").write_text("point\n")
    with pytest.raises(InputError, match="holds a sweep"):
        read(tmp_path)

"""A file appears whole or not at all, also when writing fails half-way or the folder can't be written."""

from pathlib import Path

import pytest

from hwmodels.errors import InputError
from simulator.statistics.files import make_folder, write_bytes, write_text, write_with


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "µs\n")
    write_bytes(path, b"second")
    assert path.read_bytes() == b"second"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


def test_a_failure_half_way_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "first")

    def fail(file) -> None:
        file.write(b"half of the sec")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_with(path, fail)
    assert path.read_text() == "first"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        make_folder(tmp_path / "file" / "below")
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "file" / "a.txt", "x")
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "missing" / "a.txt", "x")

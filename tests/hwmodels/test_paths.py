"""Names that no file can have are names of no file, wherever a stranger's file gives one."""

from pathlib import Path

import pytest

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.paths import exists, is_file
from simulator.trace.accelsim.kernelslist import read_list

TOO_LONG = "A" * 4000


@pytest.mark.parametrize("name", [TOO_LONG, f"{TOO_LONG}/a", "a\0b"])
def test_they_are_not_there(tmp_path: Path, name: str) -> None:
    assert not is_file(tmp_path / name)
    assert not exists(tmp_path / name)


def test_what_is_there_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert is_file(tmp_path / "a")
    assert exists(tmp_path)
    assert not is_file(tmp_path)


@pytest.mark.parametrize("name", [TOO_LONG, f"base-{TOO_LONG}", f"{TOO_LONG}.yaml", '"a\\0.yaml"'])
def test_a_card_that_extends_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.yaml").write_text(f"extends: {name}\n")
    with pytest.raises(InputError, match=r"own\.yaml:extends"):
        Gpu.from_card(str(tmp_path / "own.yaml"))


def test_a_card_that_extends_what_is_no_card_is_named_itself(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("no mapping")
    (tmp_path / "own.yaml").write_text("extends: other.yaml\n")
    with pytest.raises(InputError, match=r"own\.yaml extends .*other\.yaml: not a mapping"):
        Gpu.from_card(str(tmp_path / "own.yaml"))


def test_keys_that_do_not_go_together_are_said_with_the_card(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("extends: a100-sxm-40gb\ndram: {rows: 75536}\n")
    with pytest.raises(InputError, match=r"own\.yaml: gpu\.dram\.rows: 75536 is not a power of two"):
        Gpu.from_card(str(tmp_path / "own.yaml"))


def test_a_list_that_names_one(tmp_path: Path) -> None:
    (tmp_path / "kernelslist.g").write_text(f"kernel{TOO_LONG}-1.traceg\n")
    with pytest.raises(InputError, match=r"kernelslist\.g:1: .* is not beside the list"):
        read_list(tmp_path / "kernelslist.g")

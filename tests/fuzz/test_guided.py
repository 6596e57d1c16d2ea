"""The coverage-guided fuzzer finds nothing either; and it would find something."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tests.fuzz.readers import READERS

pytest.importorskip("atheris", reason="atheris has no wheel for this platform")
ROOT = Path(__file__).resolve().parents[2]
RUNS, LONG_RUNS = 300, 100_000


def fuzz(name, runs, folder, code=""):
    start = f"import sys, runpy; sys.argv[1:] = [{name!r}, '--runs', '{runs}']; {code}"
    start += "runpy.run_module('tests.fuzz.guided', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", start],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", READERS)
def test_finds_nothing(name, tmp_path):
    done = fuzz(name, RUNS, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"Done {RUNS} runs" in done.stderr


def test_would_find_what_is_wrong(tmp_path):
    spoilt = "import tests.fuzz.judge as j; j.LONGEST_LINE = 10; "
    done = fuzz("config", 2000, tmp_path, spoilt)
    assert done.returncode != 0
    assert "AssertionError" in done.stderr + done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_finds_nothing_in_many_more(name, tmp_path, fraction: Fraction):
    done = fuzz(name, max(1, int(LONG_RUNS * fraction)), tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]

"""What every test may ask for: the facts beside the checkout, and the fraction of the long cases to run.

`make test-long FRACTION=1/20` sets STALLSCOPE_FRACTION; of the tests marked `slow` that share of each file is
kept, at least one, spread evenly and always the same ones, and the header says so. Property tests draw the
same examples in every short run, so that a red run says something about the change; long runs draw new ones.
"""

import os
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("short", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, print_blob=True)
settings.load_profile("long" if "STALLSCOPE_FRACTION" in os.environ else "short")


def long_fraction() -> Fraction:
    """The share of long cases to run, from STALLSCOPE_FRACTION (`1` when unset)."""
    text = os.environ.get("STALLSCOPE_FRACTION", "1")
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise pytest.UsageError(f"STALLSCOPE_FRACTION: {text!r} is no fraction; write 1/20") from None
    if not 0 < share <= 1:
        raise pytest.UsageError(f"STALLSCOPE_FRACTION: {text!r} is outside 0 < fraction <= 1; write 1/20")
    return share


def kept_indices(total: int, share: Fraction) -> set[int]:
    """Evenly spread indices of a share of `total` cases, at least one."""
    keep = max(1, int(total * share))
    return {index * total // keep for index in range(keep)}


def pytest_report_header(config: pytest.Config) -> list[str]:
    if "slow" not in config.getoption("markexpr").replace("not slow", ""):
        return []
    return [f"long tests: running {long_fraction()} of the cases of each file (STALLSCOPE_FRACTION)"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Thin out the long tests, file by file; the others are untouched."""
    share = long_fraction()
    if share == 1:
        return
    slow = sorted((item for item in items if item.get_closest_marker("slow")), key=lambda item: item.nodeid)
    dropped: list[pytest.Item] = []
    for _, group in groupby(slow, key=lambda item: item.path):
        cases = list(group)
        kept = kept_indices(len(cases), share)
        dropped += [case for index, case in enumerate(cases) if index not in kept]
    gone = set(map(id, dropped))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=dropped)


@pytest.fixture(scope="session")
def fraction() -> Fraction:
    """The share of long cases to run: a slow test scales its own number of examples by it."""
    return long_fraction()


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The folder of facts and inputs beside the checkout; the test is skipped where there is none."""
    folder = Path(os.environ.get("STALLSCOPE_SHARED", ROOT.parent / "shared"))
    if not (folder / "facts").is_dir():
        pytest.skip("no folder of shared facts beside the checkout (set STALLSCOPE_SHARED)")
    return folder

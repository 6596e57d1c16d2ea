"""Readers get what the docs show: commands and Python examples run and print literally what stands there, the
reference tables agree with the code, links and pictures exist, and `make` has the targets that are named.

A red test after a change that was meant: `python docs/refresh.py`, and read the difference.
"""

import re
from pathlib import Path

import pytest

from docs.examples import PAGES, ROOT, blocks_of, masked, play
from docs.tables import MARKED, NAMES, rendered

WITH_SLOW = [path for path in PAGES if any(one.slow for one in blocks_of(path.read_text(encoding="utf-8")))]
WITH_QUICK = [
    path
    for path in PAGES
    if any(
        not one.slow and one.language in {"console", "python"}
        for one in blocks_of(path.read_text(encoding="utf-8"))
    )
]


def compare(path: Path, folder: Path, *, slow: bool) -> None:
    outcomes = play(path.read_text(encoding="utf-8"), folder, slow=slow)
    assert outcomes, "a page in this list has something to run"
    for outcome in outcomes:
        assert not outcome.complaints
        assert masked(outcome.text) == masked(outcome.block.text)


@pytest.mark.parametrize("path", WITH_QUICK, ids=lambda path: path.stem)
def test_examples_print_what_the_page_shows(path, tmp_path):
    compare(path, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_SLOW, ids=lambda path: path.stem)
def test_slow_examples_print_what_the_page_shows(path, tmp_path):
    compare(path, tmp_path, slow=True)


def test_the_reference_tables_are_those_of_the_code():
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    shown = {match[2]: match[3] for match in MARKED.finditer(page)}
    assert set(shown) == set(NAMES)
    for name, table in shown.items():
        assert table == rendered(name), f"table {name}: run `python docs/refresh.py formats.md`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_and_pictures_exist(path):
    page = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = path.parent / file if file else path
        assert linked.exists(), f"{target} leads nowhere"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_make_has_the_targets_that_are_named(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"(?:^ +|`|^)make ([a-z][a-z-]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets


def test_every_command_is_in_the_readme_and_no_other():
    from experiments.cli.commands import COMMANDS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `stallscope (\w+)", readme, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)

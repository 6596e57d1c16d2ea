"""Compiled code is kept under the digest of every file that it takes a rule or a constant from, so no edit
meets stale code.
"""

import importlib
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("numba")

from simulator.machine.compiled import cache, units

PROGRAM = """
import sys
from simulator.machine.compiled import units
functions = [f for group in units.GROUPS for f in units.functions(group).values()]
files = {m.__file__ for n, m in sys.modules.items() if n.startswith("simulator.machine.compiled.")}
print("\\n".join(sorted(files)))
"""


@pytest.mark.parametrize("group", units.GROUPS)
def test_every_engine_file_that_a_group_imports_is_in_its_digest(group):
    program = PROGRAM.replace("for group in units.GROUPS", f"for group in [{group!r}]")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    covered = {str(path) for path in cache.sources_of(group)}
    assert set(done.stdout.split()) <= covered


@pytest.mark.parametrize("group", units.GROUPS)
def test_what_a_group_s_files_import_from_is_in_its_digest(group):
    covered = set(cache.sources_of(group))
    own = {path for path in covered if path.parent.name == "compiled"}
    unneeded = {cache.ROOT / name for name in cache.NEVER_COMPILED}
    assert {found for path in own for found in cache.imported(path)} - unneeded <= covered


def test_all_that_a_group_depends_on_is_looked_at_for_the_index():
    looked_at = set(cache.all_sources())
    assert {path for group in units.GROUPS for path in cache.sources_of(group)} <= looked_at


def copy_of_sources(tmp_path, monkeypatch):
    for path in cache.all_sources():
        copy = tmp_path / path.relative_to(cache.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "kept")


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("hwmodels/scatter.py", {"processors", "memory", "whole"}),
        ("simulator/machine/compiled/dram_queue.py", {"memory", "whole"}),
        ("simulator/machine/compiled/sub_core.py", {"processors", "whole"}),
        ("simulator/statistics/phases.py", {"processors", "memory", "whole"}),
        ("simulator/machine/reference/l1.py", set()),
        ("hwmodels/errors.py", set()),
    ],
)
def test_an_edit_changes_the_names_of_what_depends_on_it(tmp_path, monkeypatch, edited, changed):
    copy_of_sources(tmp_path, monkeypatch)
    before = cache.object_files()
    assert cache.object_files() == before
    path = tmp_path / edited
    path.write_text(path.read_text() + "\nANOTHER = 1\n")
    after = cache.object_files()
    assert {group for group in before if before[group] != after[group]} == changed


def test_a_spoiled_index_is_made_again(tmp_path, monkeypatch):
    copy_of_sources(tmp_path, monkeypatch)
    before = cache.object_files()
    (index,) = (tmp_path / "kept").glob("*.json")
    index.write_text("{")
    assert cache.object_files() == before
    shutil.rmtree(tmp_path / "kept")
    assert cache.object_files() == before


def test_running_needs_no_compiler():
    program = "import sys; import simulator.machine.compiled.engine; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert importlib.util.find_spec("numba") is not None


def test_words_and_layout_of_a_file_compile_nothing(tmp_path, monkeypatch):
    copy_of_sources(tmp_path, monkeypatch)
    before = cache.object_files()
    path = tmp_path / "simulator/machine/compiled/dram_queue.py"
    path.write_text("# words\n" + path.read_text().replace('"""Put a request', '"""Enter a request', 1))
    assert cache.object_files() == before
    path.write_text(path.read_text().replace("KEY_BITS = 8", "KEY_BITS = 9"))
    assert cache.object_files() != before

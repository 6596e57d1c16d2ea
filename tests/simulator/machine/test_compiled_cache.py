"""Compiled code is kept under the digest of every file that it takes a rule or a constant from, so no edit
meets stale code.
"""

import ast

import pytest

pytest.importorskip("numba")

from simulator.machine.compiled import cache

PYTHON_ONLY = ("build_card", "build_trace", "cache", "collect", "engine", "store", "watchdog")
"""Files that run as Python only; what they import may change without compiling anything again."""


def compiled_files():
    folder = cache.ROOT / "simulator/machine/compiled"
    return [path for path in sorted(folder.glob("*.py")) if path.stem not in PYTHON_ONLY]


def imported_files(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            found = cache.ROOT / (name.replace(".", "/") + ".py")
            if name.split(".")[0] in ("hwmodels", "simulator") and found.exists():
                yield found


def test_every_source_of_compiled_code_is_in_the_digest():
    covered = {path for pattern in cache.SOURCES for path in cache.ROOT.glob(pattern)}
    missing = {found for path in compiled_files() for found in imported_files(path)} - covered
    assert not missing


def test_the_digest_follows_an_edit(tmp_path, monkeypatch):
    for pattern in cache.SOURCES:
        for path in cache.ROOT.glob(pattern):
            copy = tmp_path / path.relative_to(cache.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    before = cache.digest()
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    assert cache.digest() == before
    rule = tmp_path / "hwmodels/scatter.py"
    rule.write_text(rule.read_text().replace("0x2F0B", "0x2F0C"))
    assert cache.digest() != before


def test_a_folder_is_cold_until_all_is_compiled(tmp_path):
    assert cache.is_cold(tmp_path)
    cache.mark_warm(tmp_path)
    assert not cache.is_cold(tmp_path)

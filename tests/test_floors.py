"""The floors hold: who may import whom, read from the sources. Export lists are right, files stay short."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("hwmodels", "simulator", "experiments")
SOURCES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MODULES = {
    path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES
}

# A module under the first prefix may import no module under the second ones.
FORBIDDEN = {
    "hwmodels": ("simulator", "experiments", "numba", "simpy", "onnx", "pandas", "matplotlib"),
    "simulator": ("experiments", "matplotlib"),
    "simulator.trace": tuple(f"simulator.{room}" for room in ("workload", "machine", "statistics", "fusion")),
    "simulator.workload": ("simulator.machine", "simulator.fusion"),
    "simulator.machine": ("simulator.workload", "simulator.fusion", "onnx"),
    "simulator.statistics": ("simulator.workload", "simulator.fusion"),
}


def within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def imported(path: Path) -> Iterator[str]:
    """Every module that a source imports, at the top or inside a function, relative ones resolved."""
    package = MODULES[path].split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_no_import_goes_up_a_floor() -> None:
    broken = [
        f"{MODULES[path]} imports {name}"
        for path in SOURCES
        for room, forbidden in FORBIDDEN.items()
        if within(MODULES[path], room)
        for name in imported(path)
        if any(within(name, other) for other in forbidden)
    ]
    assert not broken


def test_the_check_sees_relative_and_late_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "late.py"
    source.write_text("def f():\n    from ..machine import clock\n    import experiments.cli\n")
    monkeypatch.setitem(MODULES, source, "simulator.workload.late")
    assert {"simulator.machine", "simulator.machine.clock", "experiments.cli"} <= set(imported(source))


@pytest.mark.parametrize("path", SOURCES, ids=MODULES.get)
def test_files_stay_short(path: Path) -> None:
    assert path.read_text().count("\n") <= 400


def test_export_lists_name_what_is_there() -> None:
    for path, name in MODULES.items():
        if "__all__" not in path.read_text():
            continue
        module = importlib.import_module(name)
        exported = module.__all__
        assert len(exported) == len(set(exported)), name
        assert [entry for entry in exported if not hasattr(module, entry)] == [], name


def test_public_packages_export_what_the_interface_promises() -> None:
    promised = {
        "hwmodels": {"Gpu", "cards"},
        "simulator": {"KernelBuilder", "KernelTrace", "Result", "replay"},
    }
    for name, names in promised.items():
        assert names <= set(importlib.import_module(name).__all__)

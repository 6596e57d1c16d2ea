"""The example notebook runs from its first cell to its last and prints what it shows; pictures are there.

A red test after a change that was meant: `python docs/notebook/execute.py`, and read the difference.
"""

import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebook"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.executed(path)


def shown(notebook: Any) -> list[list[tuple[str, str]]]:
    """What each cell of code shows; of a picture only that there is one."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [("stream", one.text) for one in cell.outputs if one.output_type == "stream"]
            for one in cell.outputs:
                for kind, value in sorted(one.get("data", {}).items()):
                    texts.append((kind, "a picture" if kind.startswith("image/") else value))
            cells.append(texts)
    return cells


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_computes(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    assert shown(executed(path)) == shown(kept)
    kinds = {kind for cell in shown(kept) for kind, _ in cell}
    assert {"stream", "text/html", "image/png"} <= kinds

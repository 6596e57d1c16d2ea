"""Runs a notebook of this folder from its first cell to its last, in a kernel of this Python.

`python docs/notebook/execute.py` writes the outputs into the files after a change that moves numbers. The
test runs the same function and compares what is printed; pictures only have to be there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIMIT_SECONDS = 300


def executed(path: Path) -> Any:
    """The notebook with fresh outputs; an error in a cell is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    root = str(HERE.parents[1])
    client = NotebookClient(notebook, timeout=LIMIT_SECONDS, resources={"metadata": {"path": root}})
    client.execute()
    for cell in notebook.cells:
        # When a cell ran is no content.
        cell.metadata.pop("execution", None)
    return notebook


def main() -> int:
    """Write all notebooks anew."""
    import nbformat

    for path in sorted(HERE.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        sys.stderr.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

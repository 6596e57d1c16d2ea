"""The graph behind a result: its operators, who reads whom, and where a drawing puts them.

Made again from the folder's resolved config. Traces and named kernels have no graph, and a model that is
no longer where the config says is no error of the results: both give a sentence instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config
    from simulator.workload.graph import Graph


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind a result folder; `why_not` says why there is no graph."""

    config: Config | None
    parts: tuple[Graph, ...]
    why_not: str = ""


def behind(folder: Path) -> Behind:
    """The config of a folder and the parts of its graph."""
    from experiments.config import load_config
    from experiments.folder import CONFIG
    from experiments.workload import parts_of

    path = folder / CONFIG
    if not path.exists():
        return Behind(None, (), "The folder has no config.yaml, so nothing is known of a graph.")
    try:
        config = load_config(str(path))
        if config.source not in {"onnx", "operators"}:
            return Behind(
                config, (), f"The workload is {config.source}: there is no graph of operators to fuse."
            )
        return Behind(config, tuple(parts_of(config)))
    except InputError as error:
        return Behind(None, (), f"The graph can't be made again: {error}.")


def drawing(parts: tuple[Graph, ...]) -> dict[str, Any]:
    """Operators with column (longest path from an input) and row, and the edges between them."""
    nodes: list[dict[str, Any]] = []
    edges: list[list[str]] = []
    first_row = 0
    for part in parts:
        producers = part.producers()
        columns: dict[str, int] = {}
        rows: dict[str, int] = {}
        taken: set[tuple[int, int]] = set()
        for operator in part.operators:
            above = [producers[name].name for name in operator.inputs if name in producers]
            edges += [[one, operator.name] for one in dict.fromkeys(above)]
            column = max((columns[one] + 1 for one in above), default=0)
            row = min((rows[one] for one in above), default=first_row)
            while (column, row) in taken:
                row += 1
            taken.add((column, row))
            columns[operator.name], rows[operator.name] = column, row
            nodes.append({"name": operator.name, "kind": operator.kind, "column": column, "row": row})
        first_row = max(rows.values(), default=first_row) + 1
    return {"nodes": nodes, "edges": edges}

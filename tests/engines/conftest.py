"""Every test of this folder gets its engine by fixture, so that one suite holds for all engines."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from hwmodels import Gpu
from simulator.machine.options import Options
from simulator.machine.replay import ENGINES
from simulator.statistics.identities import require
from simulator.statistics.record import RunRecord
from simulator.trace.schema import KernelTrace


@pytest.fixture(params=sorted(ENGINES), scope="session")
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine."""
    return request.param


@pytest.fixture(scope="session")
def run(engine: str) -> Callable[..., RunRecord]:
    """`run(traces, gpu, **options)` → the record of a run whose identities hold."""
    simulate = importlib.import_module(ENGINES[engine]).simulate

    def run(traces: KernelTrace | list[KernelTrace], gpu: Gpu, **options: Any) -> RunRecord:
        kernels = traces if isinstance(traces, list) else [traces]
        record = simulate(kernels, gpu, Options(**options))
        require(record, [trace.blocks for trace in kernels])
        return record

    return run

"""Consumptions that a program leaves out would have counted nothing: runs with and without them are equal."""

import importlib

import pytest

from simulator.machine import program
from simulator.machine.options import Options
from simulator.machine.replay import ENGINES
from tests.engines.readings import count, same_numbers
from tests.machines.random_card import seeded_card
from tests.machines.random_trace import seeded_traces

SEEDS = range(40)


def records(engine):
    for seed in SEEDS:
        gpu = seeded_card(seed)
        yield same_numbers(
            importlib.import_module(ENGINES[engine]).simulate(seeded_traces(seed, gpu), gpu, Options())
        )


def operands(seed):
    gpu = seeded_card(seed)
    return sum(
        len(one.consumes)
        for trace in seeded_traces(seed, gpu)
        for one in program.decode(trace, 0, gpu).decoded
    )


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_repeated_consumptions_count_nothing(engine, monkeypatch):
    without, kept = list(records(engine)), sum(map(operands, SEEDS))
    monkeypatch.setattr(program, "_drop_repeats", lambda _decoded, _steps: None)
    assert list(records(engine)) == without
    assert sum(map(operands, SEEDS)) > kept > 0
    assert any(
        count(record, "access_count", kernel) for record in without for kernel in range(len(record.kernels))
    )

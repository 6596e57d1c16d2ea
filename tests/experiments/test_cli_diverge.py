"""diverge against engines that were made to differ: from a known cycle on, in one latency, in an error.

Where a latency differs, the truth is a replay to each cycle in turn.
"""

import dataclasses
import json
import sys
import types
from collections.abc import Callable

import pytest

from experiments.cli import main
from experiments.cli.diverge import EPILOG
from hwmodels import Gpu
from hwmodels.errors import ResultError
from simulator.machine import replay as engines
from simulator.machine.diverge import compare_engines
from simulator.machine.options import Options
from simulator.machine.record_difference import differences
from simulator.machine.reference.engine import simulate
from simulator.statistics.record import RunRecord
from simulator.statistics.schema import INDEX
from simulator.trace.kernels import from_spec
from tests.engines.readings import tiny_card

TRACE = "kernel:copy,megabytes=0.0078125"
CARD = tiny_card()
SLICE = ["--gpu", "v100-sxm2-16gb", "--set", "gpu.scale=1/16"]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a function an engine of the given name, for one test."""

    def register(name: str, function: Callable[..., RunRecord]) -> None:
        module = types.ModuleType(f"engine_{name}")
        module.simulate = function
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(engines.ENGINES, name, module.__name__)

    return register


def miscounting(from_cycle: int) -> Callable[..., RunRecord]:
    """The reference engine, but what it has counted is one off as soon as a cycle is done."""

    def miscount(traces, gpu, options):
        record = simulate(traces, gpu, options)
        reached = record.end_fs // gpu.sm_period_fs
        if options.max_cycles is None or options.max_cycles > from_cycle:
            assert options.max_cycles is not None or reached >= from_cycle
            record.kernels[0].counts[INDEX["l2_read_hits"]] += 1
        return record

    return miscount


def slower(**overrides: int) -> Callable[..., RunRecord]:
    """The reference engine on a card that is not the one it was given."""

    def simulate_slower(traces, gpu, options):
        other = gpu.with_overrides({key.replace("__", "."): value for key, value in overrides.items()})
        return dataclasses.replace(simulate(traces, other, options), gpu_digest=gpu.digest())

    return simulate_slower


def with_cli(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["diverge", *argv])
    return code, capsys.readouterr().out


def test_an_engine_is_equal_to_itself(capsys):
    code, out = with_cli([TRACE, "--engines", "reference,reference", *SLICE], capsys)
    assert code == 0
    assert "reference and reference are equal" in out
    code, out = with_cli([TRACE, "--engines", "reference,reference", *SLICE, "--json"], capsys)
    document = json.loads(out)
    assert code == 0
    assert document["equal"] is True
    assert min(document[key] for key in ("cycles", "warp_instructions", "requests")) > 0


@pytest.mark.parametrize("cycle", [0, 1, 333, 500])
def test_a_wrong_count_is_found_in_its_cycle(register, cycle):
    register("wrong", miscounting(cycle))
    found = compare_engines(from_spec(TRACE), CARD, ("reference", "wrong"))
    assert found.divergence.cycle == cycle
    (difference,) = found.divergence.differences
    assert (difference.component, difference.what) == ("kernel 0", "l2_read_hits")
    assert difference.right == difference.left + 1


@pytest.mark.parametrize(
    "overrides",
    [
        {"l1__tag_latency_cycles": 11},
        {"dram__controller_latency_ns": 300},
        {"l2__miss_latency_cycles": 85},
        {"sm__exit_latency_cycles": 21},
    ],
    ids=lambda overrides: next(iter(overrides)),
)
def test_a_wrong_latency_is_found_in_its_cycle(register, overrides):
    register("slower", slower(**overrides))
    traces = from_spec(TRACE)
    found = compare_engines(traces, CARD, ("reference", "slower"))
    cycle = found.divergence.cycle
    assert differ_after(traces, CARD, cycle + 1, overrides)
    earlier = [stop for stop in range(1, cycle + 1, 31) if differ_after(traces, CARD, stop, overrides)]
    assert not earlier
    assert not differ_after(traces, CARD, cycle, overrides)


def differ_after(traces, gpu: Gpu, cycles: int, overrides: dict[str, int]) -> bool:
    options = Options(max_cycles=cycles, keep_requests=True)
    return bool(differences(simulate(traces, gpu, options), slower(**overrides)(traces, gpu, options)))


def test_both_states_are_printed(register, capsys):
    register("slower", slower(l1__tag_latency_cycles=30))
    code, out = with_cli([TRACE, "--engines", "reference,slower", *SLICE], capsys)
    assert code == 1
    assert "reference and slower differ first in SM cycle" in out
    assert "The first memory request that does not finish alike" in out
    assert "finish_fs" in out
    code, out = with_cli([TRACE, "--engines", "reference,slower", *SLICE, "--json"], capsys)
    document = json.loads(out)
    assert (code, document["equal"]) == (1, False)
    ours, theirs = document["request"]
    assert theirs["finish_fs"] > ours["finish_fs"]
    assert theirs["phases_fs"]["l1"] > ours["phases_fs"]["l1"]
    assert document["differences"][0].keys() == {"component", "what", "left", "right"}


def test_an_engine_that_stops_with_an_error_differs_from_there_on(register):
    def stuck(traces, gpu, options):
        if options.max_cycles is None or options.max_cycles > 400:
            raise ResultError("watchdog", "work is left and nothing is booked")
        return simulate(traces, gpu, options)

    register("stuck", stuck)
    found = compare_engines(from_spec(TRACE), CARD, ("reference", "stuck"))
    assert found.divergence.cycle == 400
    assert "watchdog" in found.divergence.differences[0].right


def test_two_engines_that_both_stop_alike_agree(register):
    def stuck(traces, gpu, options):
        raise ResultError("watchdog", "work is left and nothing is booked")

    register("stuck", stuck)
    assert compare_engines(from_spec(TRACE), CARD, ("stuck", "stuck")).divergence is None


def test_the_examples_of_the_help_work(capsys):
    examples = [line.split()[1:] for line in EPILOG.splitlines() if line.startswith("  stallscope")]
    assert len(examples) == 2
    for words in examples:
        assert main(words) == 0
    assert "are equal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("engines_given", "message"),
    [
        ("reference", "are not two engines; write reference,"),
        ("reference,refrence", "did you mean 'reference'"),
    ],
)
def test_engines_that_are_not_two_known_ones(engines_given, message, capsys):
    assert main(["diverge", TRACE, "--engines", engines_given, *SLICE]) == 2
    assert message in capsys.readouterr().err

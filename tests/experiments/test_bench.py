"""The bench on tiny cases: its table, document and history hold what they promise.

No figure is asserted beyond being positive and agreeing with its counts: a test must not depend on the speed
of a computer.
"""

import csv
import json
from dataclasses import replace

import pytest

from experiments.bench import cases, run
from experiments.bench.cases import CASES, GROWTH, Case, chain, copy
from experiments.bench.history import COLUMNS, append, check
from experiments.bench.host import host, peak_memory_mb
from experiments.bench.measure import Measurement
from experiments.bench.ratios import ratios
from experiments.cli import main
from hwmodels.errors import InputError
from simulator.trace.kernels import from_spec
from simulator.trace.tally import tally

TINY = "kernel:copy,megabytes=0.03125,bytes_per_lane=4"
TINY_CASES = (
    Case("tiny", {"workload.traces": [TINY]}, ("reference",), "1/4"),
    Case("tiny-full", {"workload.traces": [TINY]}, ("reference",), quick=False),
    Case("tiny-other", {"workload.traces": [TINY]}, ("imagined",)),
)
INTERFACE_KEYS = {
    "engine",
    "trace",
    "threads",
    "warp_instructions",
    "cycles",
    "cpu_seconds",
    "wall_seconds",
    "kips",
    "peak_memory_mb",
}
ROW = Measurement("reference", "copy-4mb", 132, 1, 1000, 500, 2.0, 3.0, 0.5, 250.0, 1e6, 80.0, False)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """One quick run of the command on the tiny cases: its document and the rows of its history."""
    history = tmp_path_factory.mktemp("bench") / "new" / "history.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "CASES", TINY_CASES)
        patch.setattr(run, "REPEATS", {"reference": 1})
        import io
        from contextlib import redirect_stdout

        printed = io.StringIO()
        with redirect_stdout(printed):
            assert main(["bench", "--quick", "--json", "--history", str(history)]) == 0
    with history.open() as file:
        return json.loads(printed.getvalue()), list(csv.DictReader(file))


def test_the_document_has_the_keys_of_the_interface(bench):
    document, _ = bench
    assert {"results", "ratios", "starts", "left_out"} <= document.keys()
    (row,) = document["results"]
    assert row.keys() >= INTERFACE_KEYS
    assert (row["engine"], row["trace"], row["sm_count"], row["threads"]) == ("reference", "tiny", 33, 1)


def test_counts_are_the_traces_and_rates_follow_from_them(bench):
    (row,) = bench[0]["results"]
    assert row["warp_instructions"] == sum(tally(from_spec(TINY)[0]))
    assert row["partial"] is False
    assert row["kips"] == pytest.approx(row["warp_instructions"] / row["cpu_seconds"] / 1000)
    assert row["cycles_per_second"] == pytest.approx(row["cycles"] / row["cpu_seconds"])
    assert all(row[key] > 0 for key in ("cycles", "cpu_seconds", "wall_seconds", "slowdown"))
    assert 10 < row["peak_memory_mb"] < 2000


def test_an_engine_that_is_not_there_is_said(bench):
    assert bench[0]["left_out"] == ["There is no imagined engine in this version; left out: tiny-other."]


def test_starts_are_measured_for_each_engine(bench):
    (start,) = bench[0]["starts"]
    assert (start["engine"], start["start"]) == ("reference", "warm")
    assert start["wall_seconds"] > 0
    assert start["cpu_seconds"] > 0


def test_the_history_has_a_row_for_each_figure(bench):
    document, rows = bench
    assert [row["trace"] for row in rows] == ["tiny", "start-warm"]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert float(rows[0]["kips"]) == pytest.approx(document["results"][0]["kips"], rel=1e-4)
    assert all(row["date"] and row["processor"] and int(row["cores"]) > 0 for row in rows)


def test_the_history_grows_and_refuses_another_file(tmp_path):
    path = tmp_path / "history.csv"
    for _ in range(2):
        append(path, [ROW], [], host(), quick=False)
    with path.open() as file:
        assert len(list(csv.DictReader(file))) == 2
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no history"):
        check(other)
    assert main(["bench", "--history", str(other)]) == 2
    assert other.read_text() == "a,b\n1,2\n"


def test_ratios_by_hand():
    rows = [
        replace(ROW, kips=10.0),
        replace(ROW, engine="compiled", kips=1500.0),
        replace(ROW, engine="compiled", sm_count=33, kips=2000.0),
        replace(ROW, engine="compiled", trace="copy-64mb", kips=1000.0),
        replace(ROW, engine="compiled", trace="copy-64mb", threads=2, kips=900.0, wall_seconds=2.0),
    ]
    assert ratios(rows) == {
        "compiled / reference: kips of copy-4mb, 132 SMs": 150.0,
        "132 / 33 SMs: kips of copy-4mb, compiled": 0.75,
        "copy-64mb / copy-4mb: time an instruction, compiled": 1.5,
        "2 threads / 1: wall time of copy-64mb, 132 SMs": 1.5,
    }
    assert ratios([]) == {}


def test_the_cases_are_those_that_were_promised():
    both = {case.name for case in CASES if set(case.engines) == {"reference", "compiled"} and case.quick}
    assert both == {"copy-4mb", "chain-4mb"}
    fast = {case.name for case in CASES if "compiled" in case.engines and case.quick}
    assert fast == both | {"copy-64mb", "chain-32mb", "thin-chain-32mb", "gemm-1024", "chase"}
    assert {name for pair in GROWTH for name in pair} <= {case.name for case in CASES}


@pytest.mark.parametrize(("workload", "elements"), [(copy(4), 1 << 20), (chain(4), 1 << 20)])
def test_a_lane_has_one_float(workload, elements):
    (trace,) = from_spec(workload["workload.traces"][0])
    assert trace.blocks * trace.threads_per_block == elements


def test_a_misspelt_case_is_answered_with_the_nearest(capsys):
    assert main(["bench", "--case", "copy-4mp"]) == 2
    assert "did you mean 'copy-4mb'" in capsys.readouterr().err


def test_peak_memory_is_of_this_process():
    before = peak_memory_mb()
    held = bytearray(64 << 20)
    assert peak_memory_mb() >= before
    assert len(held) < peak_memory_mb() * (1 << 20) < 64 << 30

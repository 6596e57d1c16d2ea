"""Probes: figures are looked up right, slices are honest, and each probe gives rows that can be printed."""

import json
from statistics import median

import pytest

from experiments.cli import main
from experiments.probes.curve import points_of
from experiments.probes.latency import smallest_slice
from experiments.probes.measure import one_sm
from experiments.probes.published import DIES, measurements, published, published_strides
from experiments.probes.registry import PROBES
from experiments.probes.row import Row
from experiments.probes.runner import run_probes
from experiments.probes.shared import conflicts
from experiments.probes.steady import steady_bytes_per_second
from experiments.probes.synchronisation import barriers
from hwmodels import Gpu


def test_a_figure_is_the_median_of_the_best_trusted_rows():
    boards = DIES["GA100"]
    found = published(boards, ("lat.chase.l1", "lat.l1_hit"), method="random")
    assert found.value == median([33.2, 32.7])
    assert (found.confidence, found.rows, found.unit) == ("high", 2, "cycles")
    assert published(boards, "lat.l1_hit", method="rounded").confidence == "medium"
    assert published(boards, "lat.nothing") is None


def test_conversion_and_exclusion():
    assert published(("V100 PCIe",), "bw.l2", convert=lambda value: value / 1000, unit="TB/s").value == 2.155
    assert published(DIES["GA100"], ("lat.shared", "lat.shared_load"), without="chase").value == 23


def test_rows_without_a_plain_number_are_left_out():
    assert all(isinstance(row.value, float) for row in measurements())
    assert not any(row.quantity == "bw.reduction_large" for row in measurements())


def test_error_is_relative_to_published():
    row = Row("card", "x", "cycles", 90.0, published(("V100 PCIe",), "lat.shared"))
    assert row.error_percent == pytest.approx(100 * (90 - 19) / 19)
    assert Row("card", "x", "cycles", 90.0).error_percent is None
    assert row.document()["published"]["value"] == 19


def test_published_points_of_a_curve():
    points = {point.threads: point.known.value for point in points_of(Gpu.from_card("v100-pcie-16gb"))}
    assert points[32] == 36
    assert points[2048] == 867
    # Published as a turn-round time only: 256 threads × 80 SMs × 8 bytes in 623 ns.
    assert points[256] == pytest.approx(256 * 80 * 8 / 623)
    assert all(point.known is None for point in points_of(Gpu.from_card("h100-sxm")))


@pytest.mark.parametrize(("card", "scale"), [("v100-pcie-16gb", "1/16"), ("a100-sxm-40gb", "1/4")])
def test_the_smallest_slice(card, scale):
    assert smallest_slice(Gpu.from_card(card)).scale == scale


def test_strides_table_covers_what_was_published():
    known = published_strides(Gpu.from_card("a100-sxm-40gb"))
    assert len(known) == 30
    assert set(known) <= set(range(1, 34))


@pytest.mark.parametrize("key", ["shared_memory.access_latency_cycles", "shared_memory.pass_interval_cycles"])
def test_conflict_latency_follows_its_parameters(key):
    """Closed form: base + interval × (n − 1) of a chain, n cycles of port time at interval 2."""
    gpu = Gpu.from_card("v100-pcie-16gb")
    default = {row.quantity: row.ours for row in conflicts(gpu, (1, 4, 32)) if "atomic" not in row.quantity}
    changed = gpu.with_overrides({key: 6 if "access" in key else 4})
    rows = {row.quantity: row.ours for row in conflicts(changed, (1, 4, 32))}
    for ways in (1, 4, 32):
        name = f"shared load, {ways}-way conflict"
        more = 2 if "access" in key else 2 * (ways - 1)
        assert rows[name] == pytest.approx(default[name] + more, abs=0.5)


def test_barriers_follow_the_arrival_time():
    gpu = Gpu.from_card("v100-pcie-16gb").with_overrides({"sm.barrier_arrival_cycles": 3})
    rows = {row.quantity: row.ours for row in barriers(gpu)}
    for warps in (1, 8, 32):
        assert rows[f"barrier, {warps} warps"] == pytest.approx(21 + 3 * warps, abs=1)


def test_one_sm_keeps_everything_else():
    gpu = Gpu.from_card("a100-sxm-40gb")
    assert one_sm(gpu).sm_count == 1
    assert one_sm(gpu).l2 == gpu.l2


def test_processes_give_the_rows_of_one_process_in_order():
    alone = run_probes(["v100-pcie-16gb", "a100-sxm-40gb"], ["launch"], processes=1)
    together = run_probes(["v100-pcie-16gb", "a100-sxm-40gb"], ["launch"], processes=2)
    assert alone == together
    assert alone[0].quantity == "empty kernel in a stream"
    assert [row.gpu for row in alone] == ["v100-pcie-16gb"] * 4 + ["a100-sxm-40gb"] * 4


def test_command_prints_a_table_and_json(capsys):
    assert main(["probe", "--what", "launch", "--workers", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["gpu", "quantity", "ours", "published"]
    assert "empty kernel in a graph" in "\n".join(lines)
    assert main(["probe", "--what", "conflicts", "--workers", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    eight = next(row for row in rows if row["quantity"] == "shared load, 8-way conflict")
    assert (eight["ours"], eight["published"]["value"]) == (33, 33)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--what", "latencies"], "latency"),
        (["--gpu", "v100"], "v100"),
        (["--set", "gpu.l1.tag_latency=4"], "tag_latency_cycles"),
        (["--workers", "0"], "--workers: 0 is out of range"),
    ],
)
def test_mistakes_are_one_line(capsys, words, said):
    assert main(["probe", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_every_group_has_a_sentence():
    assert all(probe.sentence and probe.parts for probe in PROBES.values())


def test_steady_rate_ignores_start_and_end():
    """A made-up table: 10 bytes a cycle in the middle, other rates at both ends."""
    import pandas as pd

    class Record:
        sm_period_fs = 1_000_000

    class Run:
        record = Record()
        intervals = pd.DataFrame(
            {
                "start_cycle": [100 * place for place in range(20)],
                "end_cycle": [100 * place + 100 for place in range(20)],
                "x": [0, 0, 100] + [1000] * 16 + [50],
            }
        )

    assert steady_bytes_per_second(Run(), ["x"]) == pytest.approx(10 / 1e-9)

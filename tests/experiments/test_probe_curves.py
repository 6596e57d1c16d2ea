"""Probes that give curves: plateaus against sums of parts, cliffs against capacities, their picture."""

import json

import pytest

from experiments.cli.entry import main
from experiments.cli.probe import GROUPS
from experiments.plots.probes import PANELS, probes_figure
from experiments.probes import footprints, launches, streams, working_sets
from experiments.probes.published import boards_of, published_points
from experiments.probes.registry import PROBES
from experiments.probes.row import Row
from experiments.probes.shared import WAYS
from hwmodels import Gpu, cards
from hwmodels.errors import InputError

V100 = Gpu.from_card("v100-pcie-16gb")
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_plateaus_are_the_sums_of_the_parts():
    """28 cycles in L1, 212 in L2 (mean over slices), some 434 beyond."""
    inside, how = footprints.chase_of(V100, 32 * KIB)
    assert inside == 28
    assert how == "shuffled, through L1"
    l2, how = footprints.chase_of(V100, MIB)
    assert l2 == pytest.approx(212, rel=0.01)
    assert "1/16 of the card" in how
    assert footprints.chase_of(V100, 4 * GIB)[0] == pytest.approx(434, rel=0.03)


def test_edges_are_where_the_capacities_are():
    usable = V100.l1.usable_kib(0) * KIB
    below, above = (footprints.chase_of(V100, int(usable * share))[0] for share in (0.9, 1.5))
    assert below == 28
    assert above > 200
    l2 = V100.l2.size_kib * KIB
    below, above = (footprints.chase_of(V100, int(l2 * share))[0] for share in (0.8, 1.7))
    assert below < 220
    assert above > 420


def test_a_card_without_published_points_has_a_grid_around_its_edges():
    for name in cards():
        gpu = Gpu.from_card(name)
        sizes = footprints.grid(gpu)
        assert (sizes[0], sizes[-1]) == (4 * KIB, 4 * GIB)
        for edge in (gpu.l1.usable_kib(0) * KIB, gpu.l2.size_kib * KIB // gpu.l2.partitions):
            assert any(0.9 * edge < size < edge for size in sizes)
            assert any(edge < size < 1.6 * edge for size in sizes)


def test_published_points_hold_their_place():
    points = published_points(("L40",), r"lat\.chase_ws_([0-9]+)KiB")
    assert points[2039].value == 276.5
    assert list(points) == sorted(points)
    triads = published_points(boards_of(V100), r"bw\.stream_triad_occ([0-9.]+)%")
    assert triads[100.0].value == 814


def test_what_fits_l1_is_read_at_the_port():
    """128 bytes a cycle on a V100; sixteen lanes of four bytes on an A40."""
    for gpu, width in ((V100, 128), (Gpu.from_card("a40"), 64)):
        ours, _ = working_sets.bandwidth_of(gpu, 32 * KIB, in_step=True)
        assert ours * 1000 / gpu.sm_count / gpu.clock_mhz == pytest.approx(width, rel=0.02)


def test_an_a40s_port_hides_conflicts_up_to_two_ways():
    """Published for an A40: 2.00 at strides 1 and 2, 4.00 at 4, 8.0 at 8."""
    from experiments.probes.measure import marginal_cycles, one_sm
    from experiments.probes.strides import UNROLL, WARPS, _loads

    sm = one_sm(Gpu.from_card("a40"))
    for stride, cycles in ((1, 2), (2, 2), (4, 4), (8, 8)):
        turn = marginal_cycles(sm, lambda n, s=stride: [_loads(s, n)], 4)
        assert turn / (WARPS * UNROLL) == pytest.approx(cycles, rel=0.02)


def test_stream_points_are_thinned_to_one_a_range():
    percents = [3.1, 6.2, 12.5, 25.0, 37.5, 50.0, 75.0, 100.0]
    assert streams.thinned(percents) == [6.2, 12.5, 25.0, 50.0, 100.0]


def test_one_more_kernel_costs_its_gap_and_itself():
    """Closed form: gap of the card + the empty kernel; the host's period where it is longer."""
    rows = {row.quantity: row.ours for row in launches.launches(V100)}
    kernel = rows["empty kernel in a stream"] - V100.launch.stream_gap_ns / 1000
    assert 0.15 < kernel < 0.35
    assert rows["empty kernel in a graph"] == pytest.approx(
        kernel + V100.launch.graph_gap_ns / 1000, abs=0.002
    )
    assert rows["empty kernel, paced by the host"] == pytest.approx(V100.launch.host_period_ns / 1000)
    turn = rows["turn-round of an empty block"]
    assert turn > V100.launch.block_launch_ns + V100.launch.block_done_ns


def test_every_number_of_ways():
    assert list(WAYS) == list(range(1, 33))


def test_the_commands_groups_are_the_registrys(capsys):
    assert set(GROUPS) == set(PROBES)
    assert main(["probe", "--what", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {name: PROBES[name].sentence for name in GROUPS}


def test_a_group_runs_as_one_call():
    rows = PROBES["launch"].rows(V100)
    assert {row.quantity for row in rows} == {row.quantity for row in launches.launches(V100)}


def test_picture_has_a_panel_a_curve_with_circles_where_published():
    rows = [Row("card", f"chase {n}", "SM cycles", 30.0 * n, None, "", "chase", 4096 * n) for n in (3, 1, 2)]
    rows += [Row("card", "stride", "SM cycles", 1.0, None, "", "L1 strides", 1)]
    figure = probes_figure(V100, rows)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == [PANELS[0].title, PANELS[3].title]
    assert list(shown[0].lines[0].get_xdata()) == [4096, 8192, 12288]


def test_picture_without_a_curve_is_refused():
    with pytest.raises(InputError, match="none of these probes gives a curve"):
        probes_figure(V100, [Row("card", "x", "cycles", 1.0)])


@pytest.mark.parametrize(("out", "said"), [("x.svg", "is no PNG"), ("/nowhere/x.png", "there is no folder")])
def test_a_wrong_file_is_refused_before_anything_runs(capsys, out, said):
    assert main(["probe", "--what", "launch", "--out", out]) == 2
    assert said in capsys.readouterr().err


def test_command_draws_the_file(tmp_path, capsys):
    path = tmp_path / "v100.png"
    assert main(["probe", "--what", "strides", "--workers", "1", "--out", str(path)]) == 0
    assert path.read_bytes()[1:4] == b"PNG"
    assert "L1 load, stride 8" in capsys.readouterr().out


@pytest.mark.parametrize("blocks", [5, 7, 27, 77, 84])
def test_no_sm_reads_what_another_has_just_read(blocks):
    """Far beyond L2 every tile is read once a pass, whatever the number of SMs."""
    from experiments.probes.bandwidth import L2_STAGGERS

    stagger = next(one for one in L2_STAGGERS if blocks % one)
    turns = 5
    read = [turn * blocks + block * stagger for turn in range(turns) for block in range(blocks)]
    assert len(set(read)) == len(read)

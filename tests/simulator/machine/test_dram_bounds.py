"""Saturated and loaded DRAM against closed-form bounds, published simulators and real cards.

The bounds are arithmetic on the timing set: burst over the distance that binds, times what refresh leaves.
Windows are whole refresh intervals.
"""

import pytest

from experiments.probes.dram import dram_alone
from experiments.probes.dram_reference import beside, comparable_rows
from experiments.probes.dram_sets import peer_spec
from hwmodels.errors import InputError
from hwmodels.gpu import Gpu

HBM2, HBM3 = "Ramulator 2.1 HBM2", "Ramulator 2.1 HBM3"
LEFT = {HBM2: 1 - 260 / 3900, HBM3: 1 - 560 / 6240}
PURE = ("sequential", "random read [", "one bank", "all banks", "pointer chase same")
INTERVAL = {HBM2: 3900, HBM3: 6240}


def achieved(name, pattern, outstanding=None, pcs=1, intervals=5, **changes):
    spec = peer_spec(name, **changes)
    window = intervals * INTERVAL[name]
    figures = dram_alone(
        spec, pattern, outstanding=outstanding, pseudo_channels=pcs, warmup_clocks=4000, window_clocks=window
    )
    return figures["achieved_over_peak"]


@pytest.mark.parametrize(
    ("name", "pattern", "outstanding", "pcs", "bound", "tolerance"),
    [
        (HBM2, "sequential read", None, 1, 1, 0.02),
        (HBM2, "sequential read", None, 2, 1, 0.02),
        (HBM2, "sequential write", None, 1, 1, 0.025),
        (HBM3, "sequential read", None, 1, 1, 0.02),
        (HBM2, "one bank-group row-hit (4 banks)", 32, 1, 2 / 4, 0.01),
        (HBM3, "one bank-group row-hit (4 banks)", 32, 1, 2 / 4, 0.015),
        (HBM2, "one bank row-hit", 16, 1, 2 / 4, 0.015),
        (HBM2, "one bank new row each access", 16, 1, 2 / 48, 0.01),
        (HBM3, "one bank new row each access", 16, 1, 2 / 72, 0.01),
        (HBM2, "one bank-group new row each access", 32, 1, 8 / 48, 0.01),
        (HBM3, "one bank-group new row each access", 32, 1, 8 / 72, 0.01),
        (HBM2, "random read", 64, 1, 2 / 4, 0.03),
        (HBM2, "random read", 128, 2, 1 / 3, 0.03),
        (HBM3, "random read", 64, 1, 8 / 24, 0.03),
        (HBM2, "all banks new row each access", None, 2, 1 / 3, 0.01),
        (HBM3, "all banks new row each access", None, 1, 8 / 24, 0.02),
    ],
)
def test_saturated_streams_meet_their_bounds(name, pattern, outstanding, pcs, bound, tolerance):
    share = achieved(name, pattern, outstanding, pcs, queue=64)
    bound *= LEFT[name]
    assert bound * (1 - tolerance) <= share <= bound * 1.004


@pytest.mark.parametrize(
    "pattern", ["sequential read", "sequential write", "rotate bank-groups row-hit (one PC)"]
)
def test_without_refresh_a_rotated_stream_fills_the_bus(pattern):
    assert achieved(HBM2, pattern, refresh="none", queue=64) > 0.999


@pytest.mark.parametrize("pattern", ["sequential read", "sequential write"])
def test_refresh_of_idle_banks_costs_a_stream_next_to_nothing(pattern):
    assert achieved(HBM2, pattern, refresh="per_bank", queue=128) > 0.985
    assert achieved(HBM3, pattern, refresh="per_bank", queue=128) > 0.985


def test_a_column_first_map_costs_a_stream_of_short_queues_a_third():
    column_first = achieved(HBM2, "sequential read", queue=16, address_map="row:bank:bankgroup:column plain")
    assert column_first < 0.75 * achieved(HBM2, "sequential read", queue=16)


@pytest.mark.parametrize(
    "pattern", ["copy 1R:1W (1-access interleave)", "copy 1R:1W (16-access groups)", "triad 2R:1W"]
)
def test_copy_and_triad_lie_between_the_two_best_peers(pattern):
    """With hashed banks and deep queues: 0.85 to 0.95 of a pseudo-channel."""
    figures = dram_alone(
        peer_spec("DRAMSys HBM2", refresh="per_bank", queue=128, address_map="row:bank:column:bankgroup"),
        pattern,
        window_clocks=5 * 3900,
    )
    assert 0.85 <= figures["achieved_over_peak"] <= 0.95
    assert figures["turnarounds"] > 0


@pytest.mark.parametrize(
    ("card", "read", "write", "copy"),
    [
        ("v100-pcie-16gb", 0.965, 0.999, 0.901),
        ("a100-sxm-40gb", 0.965, 0.990, 0.889),
        ("h100-pcie", 0.952, 0.990, 0.875),
        ("h100-sxm", None, None, 0.875),
    ],
)
def test_shares_of_real_cards(card, read, write, copy):
    """A channel alone beside published shares of the peak, which streams of a whole card are held to
    elsewhere.

    Writes alone are not limited by DRAM. Reads come near what is published. Copies lie below it: on a card L2
    refills the write queue while it drains, which no synthetic stream does.
    """
    spec = Gpu.from_card(card).dram
    shares = {
        kind: dram_alone(spec, f"runs {kind}", window_clocks=20_000)["achieved_over_peak"]
        for kind in ("read", "write", "copy 1R:1W")
    }
    assert 0.95 <= shares["read"] <= 1
    assert 0.975 <= shares["write"] <= 1
    # A card's read queue is refilled by what waits in L2; the channel alone sees only its own places.
    assert read is None or shares["read"] >= read - 0.02
    assert write is None or shares["write"] >= write - 0.01
    assert 0.65 <= shares["copy 1R:1W"] <= copy + 0.035


def test_a_stream_is_named_and_loaded_in_one_way():
    spec = peer_spec(HBM2)
    with pytest.raises(InputError, match="random read"):
        dram_alone(spec, "randm read")
    with pytest.raises(InputError, match="give one of them"):
        dram_alone(spec, "random read", outstanding=1, rate=0.5)


def rows(shared_folder, tool="", *words):
    found = comparable_rows(shared_folder / "facts" / "dram_reference.csv")
    return [
        row
        for row in found
        if row["tool"].startswith(tool) and all(word in "/".join(row.values()) for word in words)
    ]


def window(row):
    return 31_200 if "HBM3" in row["standard"] else 39_000


@pytest.mark.external
def test_unloaded_and_pure_streams_agree_with_the_peer(shared_folder):
    """One pseudo-channel under the same timings: within 3 % of the peer in rows of pure reads or writes."""
    wanted = [
        row
        for row in rows(shared_folder, "Ramulator 2.1", "1pc", "[map bgil]")
        if "rate" not in row["outstanding_or_rate"]
        and row["pattern"].startswith(
            ("sequential", "random read [", "one bank", "all banks", "pointer chase same")
        )
        and "q128" not in row["channel_config"]
    ]
    assert len(wanted) >= 12
    for row in wanted[::2]:
        assert abs(beside(row, window(row) // 2)["achieved_difference_pct"]) <= 3, row


@pytest.mark.external
def test_mean_latency_under_load_agrees_below_saturation(shared_folder):
    """Open loop below 0.8 of saturation: mean read latency within 10 % of the peer under the same timings."""
    wanted = [
        row
        for row in rows(shared_folder, "Ramulator 2.1", "HBM2 2.0", "1pc", "rate=", "Poisson")
        if "sequential mix" in row["pattern"] or "random read [" in row["pattern"]
    ]
    wanted = [
        row
        for row in wanted
        if 0.04
        < float(row["outstanding_or_rate"][5:].split()[0])
        <= (0.35 if "random" in row["pattern"] else 0.6)
    ]
    assert len(wanted) >= 8
    for row in wanted[::2]:
        figures = beside(row, window(row))
        assert abs(figures["latency_difference_pct"]) <= 10, figures


@pytest.mark.external
@pytest.mark.slow
def test_all_comparable_rows(shared_folder, fraction):
    """Every row that has a counterpart: half of the shares within 2 %, nine in ten within 10 %."""
    found = rows(shared_folder)
    step = max(int(1 / fraction), 1)
    differences = sorted(abs(beside(row, window(row))["achieved_difference_pct"]) for row in found[::step])
    assert differences[len(differences) // 2] <= 2
    assert differences[len(differences) * 9 // 10] <= 12

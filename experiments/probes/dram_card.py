"""One DRAM channel of a card under the synthetic streams, each beside the bound that arithmetic sets it.

The bounds are those of the timing set alone: a burst over the distance that binds (bank-group interval, row
cycle, activate interval, four-activate window, row-command bus), less the share of time that an all-bank
refresh takes. Streams that turn the bus have no such bound; the latencies of single requests have exact
forms.
"""

from typing import Any

from experiments.probes.dram import dram_alone
from hwmodels.dram.clocks import timing_clocks
from hwmodels.dram.spec import DramSpec
from hwmodels.dram.timing import TimingClocks

STREAMS_OF_A_CARD: tuple[tuple[str, int | None], ...] = (
    ("sequential read", None),
    ("sequential write", None),
    ("runs read", None),
    ("runs write", None),
    ("runs copy 1R:1W", None),
    ("runs 3R:1W", None),
    ("random read", None),
    ("random read/write 50/50", None),
    ("all banks new row each access", None),
    ("one bank row-hit", 16),
    ("one bank new row each access", 16),
    ("one bank-group row-hit (4 banks)", 32),
    ("one bank-group new row each access", 32),
    ("pointer chase row-hit", 1),
    ("pointer chase same-bank row-conflict", 1),
)


def bandwidth_bounds(spec: DramSpec) -> dict[str, float]:
    """Upper bounds on the share of a channel's peak, by stream."""
    t = timing_clocks(spec)
    pcs = spec.pseudo_channels_per_channel
    left = 1 - t.rfc / t.refi if spec.refresh == "all_bank" else 1.0
    banks = spec.bank_groups * spec.banks_per_group
    row_bus = t.row_slots_per_clock * t.burst / ((t.act_slots + t.pre_slots) * pcs)
    new_rows = min(1.0, row_bus, t.burst / t.rrd_s, 4 * t.burst / max(t.faw, 1), banks * t.burst / t.rc)
    group = min(t.burst / t.ccd_l, 1.0)
    stream = 1.0 if spec.bank_groups > 1 else group
    return {
        "sequential read": stream * left,
        "sequential write": stream * left,
        "runs read": stream * left,
        "runs write": stream * left,
        "random read": new_rows * left,
        "all banks new row each access": new_rows * left,
        # The streams below use one pseudo-channel of the channel.
        "one bank row-hit": group * left / pcs,
        "one bank new row each access": t.burst / t.rc * left / pcs,
        "one bank-group row-hit (4 banks)": group * left / pcs,
        "one bank-group new row each access": min(4, spec.banks_per_group) * t.burst / t.rc * left / pcs,
    }


def unloaded_latencies_ns(spec: DramSpec) -> dict[str, float]:
    """Latency of a lone read by what it finds, without controller and PHY."""
    t: TimingClocks = timing_clocks(spec)
    data = t.cl + t.burst
    clocks = {"hit": data, "closed": t.rcd_rd + data, "conflict": t.rp + t.rcd_rd + data}
    return {name: count * spec.timing.tck_fs / 1e6 for name, count in clocks.items()}


def dram_of_card(spec: DramSpec, window_clocks: int = 20_000) -> list[dict[str, Any]]:
    """A row for each stream: what :func:`dram_alone` gives, and the bound where there is one."""
    bounds = bandwidth_bounds(spec)
    rows = []
    for pattern, outstanding in STREAMS_OF_A_CARD:
        figures = dram_alone(spec, pattern, outstanding=outstanding, window_clocks=window_clocks)
        rows.append({**figures, "bound_over_peak": bounds.get(pattern)})
    return rows

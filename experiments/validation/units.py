"""Units of measured quantities: a replay answers in SI or in SM cycles, a row says in which unit it wants it.

Cycles and rates a clock need the card: its SM clock and its number of SMs. Percentages and factors are
shares.
"""

from __future__ import annotations

from hwmodels import Gpu
from hwmodels.errors import InputError

TIME_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
RATE = {
    "B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
    "KiB/s": 2.0**10, "MiB/s": 2.0**20, "GiB/s": 2.0**30, "TiB/s": 2.0**40,
}  # fmt: skip
OPERATIONS = {
    "GFLOP/s": 1e9, "GFLOPS": 1e9, "TFLOP/s": 1e12, "TFLOPS": 1e12, "GOPS": 1e9, "TOPS": 1e12, "TOP/s": 1e12,
}  # fmt: skip
A_CLOCK = {"flop/clk": 1.0, "op/clk": 1.0, "FMA/clk": 2.0, "instr/clk": 1.0}
BYTES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
SHARES = {"x": 1.0, "%": 0.01}
CYCLES = ("cycles", "cycle", "clk", "SM cycles")
A_SM = "/SM"
COUNTS = ("GFLOP", "TFLOP", "FMA", "lanes", "regs")


def is_known(unit: str) -> bool:
    """Whether a unit is one of a measurement."""
    bare = unit.removesuffix(A_SM)
    known = (*TIME_S, *RATE, *OPERATIONS, *A_CLOCK, *BYTES, *SHARES, *CYCLES, *COUNTS, "B/clk", "B/cycle")
    return bare in known or bare.replace("/cycle", "/clk") in known


def convert(kind: str, value: float, unit: str, gpu: Gpu, place: str = "unit") -> float:
    """What a replay answered, in a row's unit. `kind`: "cycles" (SM cycles), "seconds", "bytes/s" and
    "operations/s" (of the whole card), "bytes" or "share".
    """
    hertz = gpu.clock_mhz * 1e6
    sms = gpu.sm_count if unit.endswith(A_SM) else 1
    bare = unit.removesuffix(A_SM).replace("/cycle", "/clk")
    if kind == "cycles":
        if bare in CYCLES:
            return value
        kind, value = "seconds", value / hertz
    if kind == "seconds":
        if bare in CYCLES:
            return value * hertz
        if bare in TIME_S:
            return value / TIME_S[bare]
    if kind == "bytes/s":
        if bare in RATE:
            return value / RATE[bare] / sms
        if bare == "B/clk":
            return value / hertz / sms
    if kind == "operations/s":
        if bare in OPERATIONS:
            return value / OPERATIONS[bare] / sms
        if bare in A_CLOCK:
            return value / hertz / A_CLOCK[bare] / sms
    if kind == "share" and bare in SHARES:
        return value / SHARES[bare]
    if kind == "bytes" and bare in BYTES:
        return value / BYTES[bare]
    raise InputError(place, f"the unit {unit} does not fit this quantity", f"a unit of {kind}")

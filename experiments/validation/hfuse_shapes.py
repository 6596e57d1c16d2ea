"""Shapes of the kernels of the HFuse artifact, from the project's public drivers: five kernels in single
precision, each alone, and in pairs that share a launch.

A fused kernel is named after its two parts; what its name ends with is the way: `100` lets all threads run
first the one and then the other, anything else gives each a part of the threads. Barriers of the drivers are
the whole block's, so in some of these one part only begins when the other is through. Where a compiler was
held to fewer registers than a pair needs, what it spilled is not published: the spills are ours then, and
only the sign of their effect is compared.
"""

from __future__ import annotations

import re

from experiments.validation.request import FEATURE, OWN_SPILLS, SHAPE, Refusal, Request, request

PARTS = {
    "im2col_kernel": "im2col",
    "MaxPoolForward": "max_pool",
    "batch_norm_collect_statistics_kernel": "statistics",
    "upsample_bilinear2d_out_frame": "upsample",
    "kernelHistogram1D": "histogram",
}
ALIASES = {"max_pool_upsample_kernel": ("max_pool", "upsample", "0")}
VERTICAL = "100"
IN_TURN = {
    ("im2col", "histogram", "1x"),
    ("histogram", "max_pool", "0"),
    ("histogram", "max_pool", "11"),
    ("histogram", "statistics", "0"),
    ("histogram", "upsample", "0"),
}
"""Parts on threads of their own between which a barrier of the whole block stands."""
DEFAULT, CAPPED = "default_regs", "reg_capped"


def hfuse_request(name: str, registers: str, conditions: str) -> Request | Refusal:
    """The replay of one row."""
    numbers = re.search(r"grid (\d+) block (\d+) threads, (\d+) regs", conditions)
    if numbers is None or registers not in {DEFAULT, CAPPED}:
        return Refusal(FEATURE, "kernels of integers that are not published as operators")
    first, second, way = parts_of(name)
    if not first:
        return Refusal(SHAPE, f"{name} is no kernel of the drivers")
    how = "alone" if not second else "shared threads" if way == VERTICAL else "threads apart"
    if (first, second, way) in IN_TURN:
        how = "threads in turn"
    method = OWN_SPILLS if second and registers == CAPPED else ""
    return request(
        "hfuse", "seconds", f"hfuse {name}, {registers}", method, first=first, second=second, how=how,
        grid=int(numbers[1]), block=int(numbers[2]), registers=int(numbers[3]),
    )  # fmt: skip


def parts_of(name: str) -> tuple[str, str, str]:
    """The two kernels of a name and what it ends with; empty strings where there are none."""
    if name in ALIASES:
        return ALIASES[name]
    for first, short in PARTS.items():
        if name == first:
            return short, "", ""
        if name.startswith(first + "_"):
            rest = name[len(first) + 1 :]
            for second, other in PARTS.items():
                if rest == second or rest.startswith(second + "_"):
                    return short, other, rest[len(second) + 1 :]
    return "", "", ""

"""`stallscope plan --from-profile`: chains of a real run's kernels that could be fused, and what that would
gain on a card by simulation.
"""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import print_json, print_table
from hwmodels.errors import InputError

MOST_REPLAYED = 12


def plan_from_profile(args: argparse.Namespace) -> int:
    """Print the chains, dearest first; the first ones with their gain."""
    from experiments.cli.progress import Progress
    from experiments.profiles.cards import chosen_card
    from experiments.profiles.fusion import candidates, gain
    from experiments.profiles.kineto import read_kineto

    if args.model is not None:
        raise InputError("plan", "a model and a profile at once", "give MODEL or --from-profile FILE")
    profile = read_kineto(Path(args.from_profile))
    gpu = chosen_card(args.gpu, profile.devices.get(profile.kernels[0].device), args.from_profile)
    found = candidates(profile, gpu)
    rows: list[dict[str, Any]] = []
    with Progress("plan") as progress:
        for number, one in enumerate(found[:MOST_REPLAYED]):
            progress.update(f"chain {number + 1} of {len(found)}", number / len(found))
            rows.append(gain(one, gpu, args.engine))
    busy = sum(kernel.duration_ns for kernel in profile.kernels) / 1000
    document = {
        "profile": str(args.from_profile),
        "gpu": gpu.name,
        "kernels": len(profile.kernels),
        "busy_us": busy,
        "chains": len(found),
        "total_gain_us": sum(row["total_gain_us"] for row in rows),
        "candidates": rows,
    }
    if args.json:
        print_json(document)
    else:
        _words(document)
    return 0


def _words(document: dict[str, Any]) -> None:
    print(
        f"{document['profile']} on {document['gpu']}: "
        f"{document['kernels']} kernels, {document['busy_us']:,.1f} us"
    )
    if not document["chains"]:
        print("no chain of known element-wise kernels, and none behind a product or convolution")
        return
    rows = document["candidates"]
    left = document["chains"] - len(rows)
    more = f"; {left} cheaper ones are not priced" if left else ""
    chains = f"{document['chains']} different chain{'s' if document['chains'] > 1 else ''}"
    print(f"{chains} could be fused{more}")
    print(f"gain {document['total_gain_us']:,.1f} us by simulation, launch gaps of the card included")
    print()
    print_table(
        [
            "chain",
            "into",
            "times",
            "elements",
            "measured us",
            "apart us",
            "one kernel us",
            "fused us",
            "gaps saved us",
            "gain us",
            "all us",
        ],
        [
            (
                " + ".join(name.removeprefix("aten::") for name in row["operators"]),
                row["into"],
                str(row["times"]),
                f"{row['elements']:,}",
                f"{row['measured_us']:,.1f}",
                f"{row['apart_us']:,.1f}",
                f"{row['one_kernel_us']:,.1f}",
                f"{row['fused_us']:,.1f}",
                f"{row['launches_saved'] * row['gap_us']:,.1f}",
                f"{row['gain_us']:,.1f}",
                f"{row['total_gain_us']:,.1f}",
            )
            for row in rows
        ],
    )

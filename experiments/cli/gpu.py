"""`stallscope gpu list|show`: the cards, and every number of one with its unit, source and confidence."""

import argparse
from typing import Any

from experiments.cli.common import (
    add_common,
    add_set,
    gpu_settings,
    load_gpu,
    parse_settings,
    print_json,
    print_table,
)

EPILOG = """\
examples:
  stallscope gpu list
  stallscope gpu show a100-sxm-40gb
  stallscope gpu show my-card.yaml --json
  stallscope gpu show v100-sxm2-16gb --set gpu.scale=1/16

A YAML file with `extends: CARD` is a card too: it inherits every number that it does not name.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command and its two parts."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gpu",
        help="the cards; every number with unit, source, confidence",
        description=__doc__,
        epilog=EPILOG,
    )
    parts = parser.add_subparsers(dest="part", metavar="list|show", required=True)
    listing = parts.add_parser("list", help="the cards that ship", description="The cards that ship.")
    add_common(listing)
    show = parts.add_parser(
        "show", help="every number of a card", description="Every number of a card.", epilog=EPILOG
    )
    show.add_argument("card", metavar="CARD", help="a card's name or YAML file")
    add_set(show)
    add_common(show)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the list or one card."""
    return _list(args) if args.part == "list" else _show(args)


def _list(args: argparse.Namespace) -> int:
    import hwmodels

    cards = [_summary(hwmodels.Gpu.from_card(name), name) for name in hwmodels.cards()]
    if args.json:
        print_json({"cards": cards})
    else:
        print_table(
            ["card", "architecture", "cc", "SMs", "MHz", "L2 KiB", "DRAM", "GB/s"],
            [card.values() for card in cards],
        )
    return 0


def _summary(gpu: Any, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "architecture": gpu.architecture,
        "compute_capability": gpu.compute_capability,
        "sm_count": gpu.sm_count,
        "clock_mhz": gpu.clock_mhz,
        "l2_kib": gpu.l2.size_kib,
        "dram_standard": gpu.dram.standard,
        "dram_bandwidth_gb_s": round(gpu.dram.bandwidth_gb_s, 1),
    }


def _show(args: argparse.Namespace) -> int:
    gpu = load_gpu(args.card, gpu_settings(parse_settings(args.settings)))
    rows = [
        {"key": f"gpu.{key}", "value": value, "unit": unit, "source": source, "confidence": confidence}
        for key, (value, unit, source, confidence) in gpu.sources().items()
    ]
    if args.json:
        print_json({"name": gpu.name, "digest": gpu.digest(), "parameters": rows})
        return 0
    print(f"{gpu.name}, digest {gpu.digest()}")
    columns = ("key", "value", "unit", "confidence", "source")
    print_table(columns, [[row[column] for column in columns] for row in rows])
    return 0

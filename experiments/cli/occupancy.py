"""`stallscope occupancy`: blocks of a kernel that an SM holds, all that limits them, the next step up."""

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
from hwmodels.errors import InputError

EPILOG = """\
examples:
  stallscope occupancy --gpu a100-sxm-40gb --threads 256 --registers 96 --shared 32768
  stallscope occupancy --cc 9.0 --threads 384 --registers 168 --shared 205696 --barriers 7
  stallscope occupancy --gpu a100-sxm-40gb --threads 256 --registers 96 --shared 0 \\
      --set gpu.register_file.size_kib=512

Shared memory is the kernel's static plus dynamic bytes; what the system reserves in each block is added.
The carve-out is the largest one unless --carveout names a smaller. A kernel that cannot launch has 0 blocks;
the limit that it breaks is named. --profiler-grid adds the whole percentage that the PyTorch profiler would
report, with its quirks.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "occupancy",
        help="blocks per SM, all limiters, the next step up",
        description="Blocks of a kernel that one SM holds, what limits them, and what one more costs.",
        epilog=EPILOG,
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--gpu", metavar="CARD", help="a card's name or YAML file")
    where.add_argument("--cc", metavar="N.M", help="a compute capability, 7.0 to 12.1")
    parser.add_argument("--threads", type=int, required=True, metavar="N", help="threads a block")
    parser.add_argument("--registers", type=int, required=True, metavar="N", help="registers a thread")
    parser.add_argument(
        "--shared", type=int, default=0, metavar="BYTES", help="shared memory a block (default 0)"
    )
    parser.add_argument(
        "--barriers", type=int, default=0, metavar="N", help="named barriers a block (default 0)"
    )
    parser.add_argument(
        "--carveout", type=int, metavar="KB", help="preferred carve-out in KiB (default: largest)"
    )
    parser.add_argument(
        "--no-opt-in", action="store_true", help="the kernel did not ask for more than the default 48 KiB"
    )
    parser.add_argument(
        "--profiler-grid",
        type=int,
        metavar="BLOCKS",
        help="blocks of the grid: add the PyTorch profiler's figure",
    )
    parser.add_argument(
        "--sm-count", type=int, metavar="N", help="SMs of the device, for --profiler-grid with --cc"
    )
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Answer in words or JSON."""
    from hwmodels.block_limits import BlockNeeds
    from hwmodels.occupancy import occupancy_of

    sm, sm_count = _limits(args)
    needs = BlockNeeds(
        args.threads, args.registers, args.shared, args.barriers, args.carveout, opt_in=not args.no_opt_in
    )
    answer = occupancy_of(sm, needs)
    document: dict[str, Any] = {
        "gpu": sm.name,
        "blocks_per_sm": answer.blocks_per_sm,
        "warps_per_block": answer.warps_per_block,
        "theoretical_occupancy_pct": answer.theoretical_pct,
        "limiters": list(answer.limiters),
        "limits": answer.limits,
        "carveout_kib": answer.carveout_bytes // 1024,
        "next_step": _next_step(answer),
        "cannot_launch": answer.cannot_launch or None,
    }
    if args.profiler_grid is not None:
        document["profiler_occupancy_pct"] = _profiler_figure(args, sm, sm_count)
    if args.json:
        print_json(document)
    else:
        _print_words(args, document)
    return 0


def _limits(args: argparse.Namespace) -> tuple[Any, int | None]:
    from hwmodels.sm_limits import SmLimits

    if args.sm_count is not None and args.profiler_grid is None:
        raise InputError(
            "--sm-count", "only the profiler's figure depends on it", "add --profiler-grid BLOCKS"
        )
    settings = gpu_settings(parse_settings(args.settings))
    if args.gpu is not None:
        gpu = load_gpu(args.gpu, settings)
        return SmLimits.of_gpu(gpu), args.sm_count or gpu.sm_count
    if settings:
        raise InputError("--set", "a compute capability has no keys to set", "use --gpu CARD instead of --cc")
    return SmLimits.of_capability(args.cc), args.sm_count


def _profiler_figure(args: argparse.Namespace, sm: Any, sm_count: int | None) -> int:
    from hwmodels.kineto_occupancy import kineto_occupancy_pct

    if sm_count is None:
        raise InputError(
            "--profiler-grid", "the number of SMs is not known", "add --sm-count N, or use --gpu CARD"
        )
    if args.profiler_grid < 1 or sm_count < 1:
        raise InputError(
            "--profiler-grid", "a grid and a device have at least one block and SM", "give positive numbers"
        )
    return kineto_occupancy_pct(sm, sm_count, args.threads, args.registers, args.shared, args.profiler_grid)


def _next_step(answer: Any) -> dict[str, Any] | None:
    step = answer.next_step
    if step is None:
        return None
    return {
        "blocks_per_sm": step.blocks_per_sm,
        "theoretical_occupancy_pct": step.theoretical_pct,
        "registers_fewer": step.registers_fewer,
        "shared_bytes_fewer": step.shared_bytes_fewer,
    }


def _print_words(args: argparse.Namespace, document: dict[str, Any]) -> None:
    print(
        f"{document['gpu']}: {args.threads} threads ({document['warps_per_block']} warps), "
        f"{args.registers} registers a thread, {args.shared} bytes of shared memory, "
        f"carve-out {document['carveout_kib']} KiB"
    )
    if document["cannot_launch"]:
        print(f"cannot launch: {document['cannot_launch']}")
    print(
        f"{document['blocks_per_sm']} blocks per SM, "
        f"theoretical occupancy {document['theoretical_occupancy_pct']:.2f} %, "
        f"limited by {', '.join(document['limiters'])}"
    )
    print()
    print_table(
        ["limiter", "blocks", "binds"],
        [
            (name, "-" if blocks is None else blocks, "yes" if name in document["limiters"] else "")
            for name, blocks in document["limits"].items()
        ],
    )
    print()
    print(_step_words(document["next_step"]))
    if "profiler_occupancy_pct" in document:
        print(f"the PyTorch profiler would report {document['profiler_occupancy_pct']} %")


def _step_words(step: dict[str, Any] | None) -> str:
    if step is None:
        return "next step: none; no saving of registers or shared memory buys one block more"
    savings = {
        "registers a thread fewer": step["registers_fewer"],
        "bytes of shared memory a block fewer": step["shared_bytes_fewer"],
    }
    words = " and ".join(f"{count} {what}" for what, count in savings.items() if count)
    blocks = f"{step['blocks_per_sm']} block{'s' if step['blocks_per_sm'] > 1 else ''}"
    return f"next step: {words} → {blocks} ({step['theoretical_occupancy_pct']:.2f} %)"

"""`stallscope profile compare` and `export`: a profile beside the model, and our results as a table of Nsight
Compute.
"""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import print_json, print_table
from experiments.cli.profile_info import limits_of, number
from experiments.profiles.nsight import NsightKernel
from experiments.profiles.nsight_names import row_of
from experiments.profiles.profile import Profile
from hwmodels import Gpu
from hwmodels.errors import InputError, unknown


def compare(args: argparse.Namespace) -> int:
    """Ours beside theirs."""
    from experiments.profiles.compare import L2_STATES
    from experiments.profiles.opened import read_profile
    from simulator.machine.replay import ENGINES

    if args.l2_state not in (None, *L2_STATES):
        raise unknown("--l2-state", "state", args.l2_state, L2_STATES)
    if args.most < 1:
        raise InputError("--most", f"{args.most} launches", "give 1 or more")
    if args.engine not in ENGINES:
        raise unknown("--engine", "engine", args.engine, ENGINES)
    profile = read_profile(Path(args.file), limits_of(args))
    if isinstance(profile, Profile):
        if args.results:
            raise InputError(
                "--results", "only an Nsight Compute table is set beside a folder", "leave it out"
            )
        return _trace(args, profile)
    return _table(args, profile)


def _trace(args: argparse.Namespace, profile: Profile) -> int:
    from experiments.cli.progress import Progress
    from experiments.profiles.cards import chosen_card
    from experiments.profiles.compare import compared, totals

    device = profile.devices.get(profile.kernels[0].device)
    gpu = chosen_card(args.gpu, device, args.file)
    with Progress("profile compare") as progress:
        rows = compared(
            profile,
            gpu,
            args.engine,
            args.l2_state or "run",
            lambda done, of: progress.update(f"launch {done + 1} of {of}", done / of),
            args.most,
        )
    summary = totals(rows)
    if args.json:
        print_json({"kind": "kineto", "gpu": gpu.name, "summary": summary, "launches": rows})
        return 0
    print(f"{gpu.name}; {summary['launches']} different launches of {summary['kernels']} kernels")
    mean, worst = summary["mean_abs_error_pct"], summary["worst_pct"]
    error = "none to compare" if mean is None else f"error {mean:.1f} % on average, {worst:+.1f} % at worst"
    share = f"{summary['simulated_share_pct']:.0f} % of the measured time"
    print(f"simulated {summary['simulated']}, {share}; {error}")
    print()
    print_table(
        ["kernel", "operator", "blocks", "runs", "measured us", "ours us", "error %", "bound", "note"],
        [_cells(row) for row in rows],
    )
    return 0


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    x, y, z = row["grid"]
    notes = []
    if row["why_not"]:
        notes.append(row["why_not"])
    else:
        notes += ["size from the launch"] if row["size_from"] == "launch" else []
        notes += [f"slice {row['slice']}"] if row["slice"] != "1/1" else []
    return (
        row["short_name"],
        row["operator"] or "-",
        f"{x * y * z:,}",
        str(row["runs"]),
        number(row["measured_us"], 1),
        number(row["simulated_us"], 1),
        number(row["error_pct"], 1),
        row["bound"] or "-",
        "; ".join(notes),
    )


def _table(args: argparse.Namespace, kernels: list[NsightKernel]) -> int:
    from experiments.profiles.nsight_compare import matched, metric_rows

    if args.gpu is None:
        raise InputError(args.file, "the table does not name a card of ours", "add --gpu CARD")
    gpu = Gpu.from_card(args.gpu)
    ours: list[Any] = [None] * len(kernels)
    if args.results:
        replayed = _rows_of(Path(args.results), gpu.name)
        ours = matched(kernels, [row for row, _ in replayed], args.results)
        gpu = replayed[0][1]  # with whatever was set for that replay
    else:
        ours = [_replayed(kernel, gpu, args.engine, args.l2_state or "cold") for kernel in kernels]
    documents: list[dict[str, Any]] = []
    for kernel, row in zip(kernels, ours, strict=True):
        why = row if isinstance(row, str) else None
        metrics = metric_rows(kernel, gpu, None if why else row)
        documents.append({"kernel": kernel.name, "id": kernel.number, "why_not": why, "metrics": metrics})
    if args.json:
        print_json({"kind": "nsight", "gpu": gpu.name, "kernels": documents})
        return 0
    for at, document in enumerate(documents):
        if at:
            print()
        print(f"{document['kernel']} on {gpu.name}")
        if document["why_not"]:
            print(f"not replayed: {document['why_not']}; what follows from the launch is below")
        print_table(
            ["section", "metric", "unit", "theirs", "ours", "difference %"],
            [
                (
                    one["section"],
                    one["metric"],
                    one["unit"] or "-",
                    number(one["theirs"], 2),
                    number(one["ours"], 2),
                    number(one["difference_pct"], 1),
                )
                for one in document["metrics"]
                if one["ours"] is not None
            ],
        )
    return 0


def _replayed(kernel: NsightKernel, gpu: Gpu, engine: str, l2_state: str) -> Any:
    """Our row of a kernel whose work is known, or the reason why it is not."""
    from experiments.profiles.compare import replayed_row
    from experiments.profiles.nsight_compare import as_profiled
    from experiments.profiles.works import Refused, work_of

    profiled = as_profiled(kernel)
    work = work_of(profiled)
    if isinstance(work, Refused):
        return work.reason
    return replayed_row(profiled, work, gpu, engine, l2_state)


def _rows_of(folder: Path, card: str | None = None) -> list[tuple[dict[str, Any], Gpu]]:
    """Rows of kernels.csv of a result folder with their cards, of one card if it is named."""
    from experiments.folder import read

    found = []
    for result in read(folder):
        name = result.record.gpu_name
        if card not in {None, name}:
            continue
        own = folder / "cards" / f"{name}.yaml"
        gpu = Gpu.from_card(str(own) if own.exists() else name)
        found += [(row_of(result, place), gpu) for place in range(len(result.kernels))]
    if not found:
        raise InputError(
            str(folder), f"no kernel on {card} in it" if card else "no kernel in it", "name another folder"
        )
    return found


def export(args: argparse.Namespace) -> int:
    """Write a result folder as a table."""
    from experiments.profiles.nsight_write import PAGES, nsight_csv
    from simulator.statistics.files import write_text

    if args.page not in PAGES:
        raise unknown("--page", "page", args.page, PAGES)
    text = nsight_csv(_rows_of(Path(args.folder)), args.page)
    if args.out:
        write_text(Path(args.out), text)
    else:
        print(text, end="")
    return 0

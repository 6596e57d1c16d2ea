"""`stallscope sweep`: every point of a config's `sweep:`, by workers, into a table; goes on where it was
stopped.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.common import add_common, add_set, parse_settings, print_json, print_table, say
from experiments.cli.progress import Progress
from experiments.cli.replaying import add_workers

if TYPE_CHECKING:
    from experiments.sweep.points import Sweep
    from experiments.sweep.run import Tally
    from experiments.sweep.work import Crew

MOST_LINES = 48
EPILOG = """\
examples:
  stallscope sweep cap-wins                                       the shipped example: with and without a cap
  stallscope sweep register-file --workers 8                      register files of 32 KiB to 1 MiB an SM
  stallscope sweep mine.yaml --set workload.batch=2               the same points at another batch
  stallscope sweep mine.yaml --set 'sweep.gpu.scale=[1/16, 1/8]'  one axis more
  stallscope sweep mine.yaml --cluster tcp://10.0.0.1:8786        points go to a Dask scheduler's workers

CONFIG is a YAML file or the name of a shipped one, with
  sweep: {registers.cap: [null, 32], gpu.l2.size_kib: [3072, 6144]}      all combinations
  sweep: {"workload.first, workload.last": [[n0, n2], [n10, n15]]}       keys that vary together

The folder gets sweep.csv (a row a point, card and variant), config.yaml and store.sqlite. A result is kept
under the digest of all that decides it, so a repeated point is free; stopped or killed, the same command goes
on. What can't be replayed, such as a kernel that can't launch, is a hole of the table and is kept too:
--retry-failed does it again. Exit code 1: a replay broke, or found something false.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "sweep", help="every point of a config's sweep; resumes by itself", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a shipped config")
    add_workers(parser)
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler whose workers replay, tcp://HOST:PORT"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the table and the store (default: results/NAME-sweep)"
    )
    parser.add_argument("--store", metavar="FILE", help="another store, to share results between folders")
    parser.add_argument("--retry-failed", action="store_true", help="do again what failed before")
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Do what is not in the store yet, write the table, print what came out."""
    import yaml

    from experiments.folder import CONFIG, DEFAULT_PARENT
    from experiments.sweep.points import sweep_of
    from experiments.sweep.run import run_sweep
    from experiments.sweep.store import Store
    from experiments.sweep.table import FILE_NAME, csv_of, rows_of
    from hwmodels.errors import InputError
    from simulator.statistics.files import make_folder, write_text

    if args.cluster and args.workers:
        raise InputError(
            "--workers", "stands beside --cluster, which has its own workers", "give one of the two"
        )
    sweep = sweep_of(args.config, parse_settings(args.settings))
    folder = Path(args.out) if args.out else DEFAULT_PARENT / f"{sweep.name}-sweep"
    make_folder(folder)
    path = Path(args.store) if args.store else folder / "store.sqlite"
    with Store(path) as store, Progress("sweep") as progress:
        tally: list[Tally] = []

        def report(now: "Tally") -> None:
            tally[:] = [now]
            progress.update(now.words)

        write_text(folder / CONFIG, yaml.safe_dump(sweep.base, sort_keys=False, allow_unicode=True))
        try:
            done = run_sweep(sweep, store, lambda: _crew(args, sweep), report, retry_failed=args.retry_failed)
        except KeyboardInterrupt:
            kept = f"{tally[0].done} of {tally[0].total} replays are stored" if tally else "nothing was begun"
            say(f"{kept}; the same command goes on from there")
            raise
        stored = store.get(sweep.jobs)
        rows = rows_of(sweep, stored)
    write_text(folder / FILE_NAME, csv_of(rows))
    holes = [row for row in rows if row["status"] != "ok"]
    if args.json:
        print_json(_document(sweep, done, rows, folder))
    else:
        _print(sweep, done, rows, folder)
    for row in holes[:3]:
        say(f"hole: point {row['point']}, {row['gpu']}, {row['variant']}: {row['error']}")
    if holes:
        say(f"{len(holes)} of {len(rows)} rows are holes; --retry-failed does them again")
    return 1 if any(one.fault for one in stored.values()) else 0


def _crew(args: argparse.Namespace, sweep: "Sweep") -> "Crew":
    """The workers, with the compiled engine ready where it is asked for."""
    from experiments.workers import default_workers

    compiled = any(job.config["engine"] == "compiled" for job in sweep.jobs.values())
    if args.cluster:
        from experiments.sweep.cluster import ClusterCrew

        cluster = ClusterCrew(args.cluster)
        if compiled:
            cluster.warm(say)
        return cluster
    from experiments.sweep.local import LocalCrew
    from experiments.sweep.work import warm_up

    if compiled:
        warm_up()
    return LocalCrew(args.workers or default_workers(len(sweep.jobs)))


def _document(sweep: "Sweep", done: "Tally", rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    from experiments.summary import versions
    from experiments.sweep.table import averages

    return {
        "name": sweep.name,
        "folder": str(folder),
        "keys": sweep.keys,
        "points": sweep.points,
        "replays": done.total,
        "ran": done.ran,
        "reused": done.reused,
        "failed": done.failed,
        "holes": sum(row["status"] != "ok" for row in rows),
        "versions": versions(),
        "rows": rows,
        "averages": averages(rows, sweep.axes),
    }


def _print(sweep: "Sweep", done: "Tally", rows: list[dict[str, Any]], folder: Path) -> None:
    from experiments.sweep.table import averages
    from experiments.sweep.words import AVERAGE_HEADINGS, average_lines, headings, lines, shared

    print(
        f"{sweep.name}: {sweep.points} points of {', '.join(sweep.keys)}; {done.total} replays: "
        f"{done.ran} run now, {done.reused} in the store already"
    )
    print()
    made = lines(sweep.keys, rows)
    if len(made) > MOST_LINES:
        made = shared(made, [[sweep.keys.index(key) for key in axis.keys] for axis in sweep.axes])
    print_table(headings(sweep.keys, rows), made[:MOST_LINES])
    if len(made) > MOST_LINES:
        print(f"… and {len(made) - MOST_LINES} more lines")
    if len(made) < len(rows):
        print(f"{len(rows)} replays in {len(made)} lines: those with equal numbers share one")
    means = averages(rows, sweep.axes)
    if means:
        print("\naverages over all other keys, of what every value of the key has a result for")
        print_table(AVERAGE_HEADINGS, average_lines(means))
    print(f"\nTable: {folder / 'sweep.csv'}; picture: stallscope plot {folder} --kind sweep")

"""The whole page: gathers verdict, pictures, tables and demonstrations, and fills the template.

One file that opens from a disk without a network: styles, programs, data and pictures are inside, and a
content-security policy with the programs' own digests keeps anything else from running or being fetched.
Names come from files of strangers, so the template escapes everything and data stand where no mark-up is
read.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.folder import CONFIG, SUMMARY, cards_in, finite, read
from experiments.report.demonstrations import demonstrations
from experiments.report.graphs import Behind, behind, drawing
from experiments.report.images import Image, images
from experiments.report.motion import motion
from experiments.report.tables import ON_PAPER, Table, result_tables, table_of
from experiments.report.words import sentences
from experiments.table import cut_short, verdict
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from simulator.statistics.result import Result

PROGRAMS = ("common.js", "tables.js", "motion.js", "windows.js", "merging.js", "start.js")
ASSETS = "assets"
MOST_SUMMARY_BYTES = 100_000_000
Report = Callable[[str, float], None]


def page(
    folder: Path,
    seconds: float,
    report: Report | None = None,
    note: Callable[[str], None] | None = None,
) -> str:
    """The text of the page. `seconds` may be spent on simulating what the demonstrations still need; `note`
    hears what was simulated on less than the whole, or not at all.
    """
    results = read(folder)
    summary = _summary(folder)
    cards = cards_in(folder)
    found = behind(folder)
    extra = demonstrations(folder, results, found, cards.get(results[0].card.name), seconds, report)
    if note is not None:
        for said in sentences(extra).values():
            for sentence in said:
                note(sentence)
    return render(results, summary, images(results, cards), found, extra, _config_text(folder))


def render(
    results: Sequence[Result],
    summary: Mapping[str, Any],
    pictures: Sequence[Image],
    found: Behind,
    extra: Mapping[str, Any],
    config_text: str,
) -> str:
    """The page from its parts."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    program = "\n".join(asset(name) for name in PROGRAMS)
    data = {
        "motions": [motion(result) for result in results],
        "others": extra["others"],
        "windows": extra["windows"],
        "graph": drawing(found.parts) if found.parts else None,
    }
    gpus = [
        {
            "name": name,
            "scale": card["scale"],
            "verdict": verdict(card),
            "variants": _variants(card["variants"]),
            "digest": summary["digests"]["gpus"].get(name, ""),
        }
        for name, card in summary["gpus"].items()
    ]
    return environment.from_string(asset("page.html")).render(
        title=summary["name"],
        summary=summary,
        warning=cut_short(summary),
        gpus=gpus,
        pictures=pictures,
        tables=result_tables(results),
        identities=identities(results),
        config=config_text,
        why_no_windows=extra["why_not"] or "No two operators of this graph can share a kernel.",
        why_no_graph=found.why_not,
        said=sentences(extra),
        on_paper=ON_PAPER,
        has_windows=bool(data["windows"]),
        has_graph=data["graph"] is not None,
        # Raw strings: the style and the program are ours, and the data have no mark-up left in them.
        style=_trusted(asset("page.css")),
        program=_trusted(program),
        data=_trusted(embedded(data)),
        program_digest=base64.b64encode(hashlib.sha256(program.encode()).digest()).decode(),
    )


def asset(name: str) -> str:
    """One of the page's own files."""
    return (files("experiments.report") / ASSETS / name).read_text(encoding="utf-8")


def embedded(data: Any) -> str:
    """JSON that no HTML parser takes for mark-up."""
    text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def identities(results: Sequence[Result]) -> Table:
    """Each identity: how often it was checked, and how often it held."""
    frames = [result.identities for result in results if not result.partial]
    if not frames:
        return table_of("identities", "Identities", pd.DataFrame(columns=["name", "checked", "held"]))
    every = pd.concat(frames, ignore_index=True)
    # One row for all SMs, and one for all memory partitions: each of them is checked by itself.
    every["name"] = every["name"].str.replace(r"^(SM|memory partition) \d+ ", r"every \1's ", regex=True)
    counted = every.groupby("name", sort=False)["holds"].agg(checked="size", held="sum").reset_index()
    return table_of("identities", "Identities: what must add up, and does", counted.astype({"held": int}))


def _variants(variants: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = []
    for name, one in variants.items():
        rows.append(
            {
                "variant": f"{name} (partial)" if one["partial"] else name,
                "launches": one["kernels"],
                "kernels µs": one["kernel_time_us"],
                "gaps µs": one["time_us"] - one["kernel_time_us"],
                "total µs": one["time_us"],
                "× none": one["speedup_vs_none"],
                "DRAM bytes": one["dram_bytes"],
                "left dirty bytes": one["dirty_bytes_left"],
                "access cycles": one["mean_access_latency_cycles"],
                "warp instructions": one["warp_instructions"],
                **({"energy µJ": one["energy_uj"]} if "energy_uj" in one else {}),
            }
        )
    return table_of("variants", "Variants", pd.DataFrame(rows))


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    remedy = "give a folder that `stallscope run` wrote"
    try:
        if path.stat().st_size > MOST_SUMMARY_BYTES:
            raise InputError(str(path), f"more than {MOST_SUMMARY_BYTES} bytes", remedy)
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", remedy) from None
    except (ValueError, RecursionError):
        raise InputError(str(path), "not valid JSON", remedy) from None
    wanted = ("name", "gpus", "digests", "identities", "versions", "engine", "replayed", "partial")
    if not isinstance(document, dict) or any(name not in document for name in wanted):
        raise InputError(str(path), "not a summary of this version", "run the experiment again")
    return document


def _config_text(folder: Path) -> str:
    try:
        return (folder / CONFIG).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)

"""The examples of README and docs as programs: every block that says it can run is found, run and compared.

A `console` block holds `$ command` lines with what they print; a `yaml` block whose first line is
`# NAME.yaml` is a file; a `python` block is run as it stands, and a `text` block right after it is what it
prints. The blocks of a page run in order in one folder. A word `slow` after the language marks what takes
minutes. What depends on the machine that runs it (seconds, rates, memory) is never compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^```([a-z]+)((?: [a-z]+)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOLATILE = (
    (
        re.compile(r"in [\d,.]+ s \([\d,]+ a second; [\d,.]+ CPU seconds in replays\), [\d,]+ MB"),
        "in … s (… a second; … CPU seconds in replays), … MB",
    ),
)
LIMIT_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, whether it is slow, its text, and where that text stands."""

    language: str
    slow: bool
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A block that shows output: the block as it should read, and exit codes other than what it shows."""

    block: Block
    text: str
    complaints: tuple[str, ...]


def blocks_of(page: str) -> list[Block]:
    """Every fenced block of a page that names a language, in order."""
    return [
        Block(match[1], "slow" in match[2].split(), match[3], match.start(3), match.end(3))
        for match in FENCE.finditer(page)
    ]


def play(page: str, folder: Path, *, slow: bool) -> list[Outcome]:
    """Run the page's examples in a folder: the quick ones, or with `slow` only the slow ones."""
    outcomes: list[Outcome] = []
    printed: str | None = None
    for block in blocks_of(page):
        wanted = block.slow == slow
        before, printed = printed, None
        if block.language == "yaml" and (name := re.match(r"# (\S+\.yaml)\n", block.text)):
            (folder / name[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "console" and wanted:
            outcomes.append(_console(block, folder))
        elif block.language == "python" and wanted:
            code, printed, errors = _run([sys.executable, "-c", block.text], folder)
            complaints = (f"python example: exit code {code}: {errors[-500:]}",) if code else ()
            outcomes.append(Outcome(block, block.text, complaints))
        elif block.language == "text" and before is not None:
            outcomes.append(Outcome(block, before, ()))
    return outcomes


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return text


def _console(block: Block, folder: Path) -> Outcome:
    lines, complaints = [], []
    for command, shown in _commands(block.text):
        code, printed, errors = _run(["bash", "-o", "pipefail", "-c", command.replace("\\\n", " ")], folder)
        failures = [line for line in errors.splitlines() if line.startswith("error: ")]
        lines.append("".join([f"$ {command}\n", printed, *(f"{line}\n" for line in failures)]))
        expected = 2 if shown.startswith("error: ") else 0
        if code != expected:
            complaints.append(f"{command}: exit code {code} instead of {expected}: {errors[-500:]}")
    return Outcome(block, "".join(lines), tuple(complaints))


def _commands(text: str) -> list[tuple[str, str]]:
    """Pairs of a command and the output shown for it; a backslash at a line's end continues the command."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    return [(command, shown) for command, shown in found]


def _run(words: list[str], folder: Path) -> tuple[int, str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    # Blanks at the ends of lines are no content, and editors remove them.
    printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    return done.returncode, printed, done.stderr

"""Writes totals.json anew: `python -m tests.golden.regenerate`, from the root of the repository.

Prints what moved, for the commit that explains it. The reference engine is the judge.
"""

import json
import sys

from tests.golden.runs import RUNS, TOTALS, changes, replayed, totals_of


def regenerate() -> list[str]:
    """Replay everything, write the file, return a line for each change."""
    before = json.loads(TOTALS.read_text(encoding="utf-8")) if TOTALS.exists() else {}
    after = {name: totals_of(replayed(name, "reference")) for name in RUNS}
    TOTALS.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")
    lines = [f"{name}: gone" for name in before if name not in after]
    for name, totals in after.items():
        moved = changes(before[name], totals) if name in before else ["new"]
        lines += [f"{name}: {line}" for line in moved]
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(regenerate() or ["nothing moved"]) + "\n")

"""Brings README and docs up to date with the code: reference tables, the output of every example, and the
pictures that examples draw under the name of one in `docs/pictures`.

Run it after a change that moves numbers or words, and read the difference before it is committed:
`python docs/refresh.py [--slow] [PAGE.md ...]`. `--slow` runs the slow examples instead, for some minutes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.examples import PAGES, ROOT, masked, play
from docs.tables import refreshed

PICTURES = ROOT / "docs" / "pictures"


def refresh(path: Path, *, slow: bool) -> list[str]:
    """Rewrite one page where it differs; returns the exit codes that were not as shown."""
    page = refreshed(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        outcomes = play(page, Path(folder), slow=slow)
        for picture in Path(folder).glob("*.png"):
            if (PICTURES / picture.name).exists():
                shutil.copyfile(picture, PICTURES / picture.name)
    for outcome in reversed(outcomes):
        if masked(outcome.text) != masked(outcome.block.text):
            page = page[: outcome.block.start] + outcome.text + page[outcome.block.end :]
    path.write_text(page, encoding="utf-8")
    return [complaint for outcome in outcomes for complaint in outcome.complaints]


def main(words: list[str]) -> int:
    """Refresh the pages that are named, or all; 1 where an example did not end as shown."""
    named = [word for word in words if word != "--slow"]
    paths = [path for path in PAGES if not named or path.name in named]
    complaints = [
        f"{path.relative_to(ROOT)}: {one}" for path in paths for one in refresh(path, slow="--slow" in words)
    ]
    sys.stderr.write("".join(f"{one}\n" for one in complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A fuzzer that follows the code it reaches: inputs that come to new lines are kept and damaged further.

    python -m tests.fuzz.guided kineto --runs 20000

It needs atheris (libFuzzer for Python; `pip install 'stallscope[fuzz]'`). libFuzzer's own bytes are the dice
of `damage.py`, so what it learns is which damage gets further. It stops at the first misbehaviour and leaves
the file that caused it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.judge import damaged_file, judge
from tests.fuzz.readers import READERS

OURS = ["hwmodels", "simulator", "experiments"]


def main() -> None:
    """Fuzz one reader; libFuzzer ends the process."""
    import atheris

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=sorted(READERS))
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    reader = READERS[args.reader]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))

    class Bytes:
        """The fuzzer's bytes as dice."""

        def __init__(self, data: bytes) -> None:
            self._data = atheris.FuzzedDataProvider(data)

        def randrange(self, stop: int) -> int:
            return int(self._data.ConsumeIntInRange(0, stop - 1))

    with atheris.instrument_imports(include=OURS):
        judge(reader, reader.seeds()[0], folder)

    def once(data: bytes) -> None:
        judge(reader, damaged_file(reader, Bytes(data)), folder)

    atheris.Setup(
        [sys.argv[0], f"-runs={args.runs}", f"-seed={args.seed}", "-max_len=256", "-timeout=10"], once
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()

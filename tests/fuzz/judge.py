"""What a reader may do with a damaged file: read it, or refuse it in one line that names the file, soon and
in little memory. Its own processor time counts, since others may hold the processor.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from hwmodels.errors import StallscopeError
from tests.fuzz.damage import Dice, damaged
from tests.fuzz.readers import Reader

SECONDS, BYTES = 10, 500 << 20
LONGEST_LINE = 2000


def judge(reader: Reader, data: bytes, folder: Path) -> bool:
    """Whether the file was read; an AssertionError (or whatever the reader let through) for misbehaviour."""
    path = folder / reader.file_name
    path.write_bytes(data)
    reader.beside(folder)
    started = time.process_time()
    said, code = "", 2
    try:
        reader.read(path)
    except StallscopeError as error:
        said, code = str(error), error.exit_code
    assert code == 2, said
    assert not said or path.name in said, f"the file is not named: {said}"
    assert not said or "; " in said, f"no remedy: {said}"
    assert len(said) < LONGEST_LINE
    assert said.isprintable(), repr(said)
    assert time.process_time() - started < SECONDS
    return not said


def damaged_file(reader: Reader, dice: Dice) -> bytes:
    """A damaged file for a reader, packed."""
    seeds = reader.seeds()
    seed = seeds[dice.randrange(len(seeds))]
    pack = reader.packed[dice.randrange(len(reader.packed))]
    return pack(damaged(seed, dice), seed)


def peak_bytes() -> int:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

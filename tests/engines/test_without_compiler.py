"""The compiled engine's sources run as plain Python too, with the bounds of every table checked, and count
the same.
"""

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")

PROGRAM = """
from tests.engines.test_equality import compare
from tests.engines.test_identities import random_options
from tests.machines.random_card import seeded_card
from tests.machines.random_trace import seeded_traces
from simulator.machine.compiled.jit import WITHOUT_COMPILER

assert WITHOUT_COMPILER
for seed in range({first}, {last}):
    gpu = seeded_card(seed)
    compare("compiled", seeded_traces(seed, gpu), gpu, **random_options(seed))
"""


def run_without_compiler(first, last):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    program = PROGRAM.format(first=first, last=last)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_few_machines():
    run_without_compiler(0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 204, 10))
def test_many_machines(first):
    run_without_compiler(first, first + 10)

"""The command line as a person meets it: exit codes, one-line errors, one JSON document, quick help."""

import json
import subprocess
import sys
import time

import pytest

from experiments.cli import entry, main
from hwmodels.errors import InputError, ResultError

QUESTION = [
    "occupancy",
    "--cc",
    "10.0",
    "--threads",
    "384",
    "--registers",
    "168",
    "--shared",
    "205696",
    "--barriers",
    "7",
]


def answers(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one call."""
    try:
        code = main(argv)
    except SystemExit as stop:  # argparse ends --help so
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_occupancy_json_has_the_keys_of_the_interface(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = answers([*QUESTION, "--json"], capsys)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["blocks_per_sm"] == 1
    assert document["theoretical_occupancy_pct"] == 18.75
    assert document["limiters"] == ["registers", "shared_memory"]
    assert document["limits"] == {"registers": 1, "shared_memory": 1, "warps": 5, "blocks": 32, "barriers": 9}
    assert document["next_step"] == {
        "blocks_per_sm": 2,
        "theoretical_occupancy_pct": 37.5,
        "registers_fewer": 88,
        "shared_bytes_fewer": 89_984,
    }


def test_occupancy_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answers(QUESTION, capsys)
    assert code == 0
    assert "limited by registers, shared_memory" in out
    assert (
        "88 registers a thread fewer and 89984 bytes of shared memory a block fewer → 2 blocks (37.50 %)"
        in out
    )


def test_a_kernel_that_cannot_launch_is_an_answer_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answers(["occupancy", "--cc", "8.0", "--threads", "1025", "--registers", "8"], capsys)
    assert code == 0
    assert "cannot launch: 1025 threads a block, 1 over the limit of 1024" in out


def test_occupancy_options_reach_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["occupancy", "--cc", "8.9", "--threads", "128", "--registers", "32", "--json"]

    def ask(*more: str) -> dict:
        return json.loads(answers([*base, *more], capsys)[1])

    assert ask("--shared", "2048", "--carveout", "64")["limits"]["shared_memory"] == 21
    assert ask("--shared", "49153")["blocks_per_sm"] == 2
    assert ask("--shared", "49153", "--no-opt-in")["blocks_per_sm"] == 0
    assert ask("--profiler-grid", "58", "--sm-count", "58")["profiler_occupancy_pct"] == 8


def test_occupancy_of_a_card_follows_its_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["occupancy", "--gpu", "a100-sxm-40gb", "--threads", "128", "--registers", "128", "--json"]
    assert json.loads(answers(base, capsys)[1])["limits"]["registers"] == 4
    wide = [*base, "--set", "gpu.register_file.size_kib=512"]
    assert json.loads(answers(wide, capsys)[1])["limits"]["registers"] == 8


BAD = [
    (["ocupancy"], "error: stallscope: unknown command 'ocupancy'; did you mean 'occupancy'?"),
    (["--debg"], "error: stallscope: unknown option '--debg'; did you mean '--debug'?"),
    (["gpu", "lst"], "error: stallscope gpu: unknown part 'lst'; did you mean 'list'?"),
    (["gpu"], "error: stallscope gpu: the following arguments are required: list|show"),
    (["gpu", "list", "--jsn"], "error: stallscope gpu list: unknown option '--jsn'; did you mean '--json'?"),
    ([*QUESTION, "extra"], "error: stallscope occupancy: unexpected argument 'extra'"),
    (
        ["occupancy", "--cc", "9.0", "--regsters", "1"],
        "unknown option '--regsters'; did you mean '--registers'?",
    ),
    (["occupancy", "--cc", "9.0", "--threads", "1", "--reg", "1"], "unknown option '--reg'; did you mean"),
    (["occupancy", "--cc", "9.0", "--threads", "1"], "the following arguments are required: --registers"),
    (["occupancy", "--cc", "9.0", "--threads", "x", "--registers", "1"], "--threads: invalid int value: 'x'"),
    (["occupancy", "--cc", "9.0", "--threads", "0", "--registers", "1"], "error: threads: 0 is out of range"),
    (
        ["occupancy", "--cc", "9.9", "--threads", "1", "--registers", "1"],
        "unknown compute capability '9.9'; did you mean",
    ),
    (["occupancy", "--gpu", "a100-sxm-40g", "--threads", "1", "--registers", "1"], "a100-sxm-40gb"),
    ([*QUESTION, "--set", "gpu.sm_count=4"], "error: --set: a compute capability has no keys to set"),
    ([*QUESTION, "--sm-count", "8"], "error: --sm-count: only the profiler's figure depends on it"),
    ([*QUESTION, "--profiler-grid", "0", "--sm-count", "8"], "at least one block and SM"),
    ([*QUESTION, "--profiler-grid", "8"], "the number of SMs is not known; add --sm-count N"),
    (["gpu", "show", "a100-sxm-40gb", "--set", "gpu.sm_count"], "error: --set gpu.sm_count: no KEY=VALUE"),
    (["gpu", "show", "a100-sxm-40gb", "--set", "sm_count=4"], "did you mean gpu.sm_count?"),
    (["gpu", "show", "a100-sxm-40gb", "--set", "gpu.sm_cuont=4"], "sm_count"),
    (["gpu", "show", "no-such-card.yaml"], "no-such-card.yaml"),
    (["trace", "info", "no-such-file.trace.npz"], "no-such-file.trace.npz"),
    (["trace", "info", "kernel:cpoy"], "copy"),
]


@pytest.mark.parametrize(("argv", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = answers(argv, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (InputError("file.yaml:3", "wrong\n twice", "right"), 2, "error: file.yaml:3: wrong twice; right"),
        (ResultError("states", "do not sum up"), 1, "error: states: do not sum up"),
        (
            FileNotFoundError(2, "No such file or directory", "x.npz"),
            2,
            "error: x.npz: No such file or directory",
        ),
        (ZeroDivisionError("oh"), 1, "error: internal error: ZeroDivisionError: oh; --debug shows where"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_exit_codes(
    raised: BaseException,
    code: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(words: list[str]) -> int:
        raise raised

    monkeypatch.setattr(entry, "_dispatch", fail)
    assert answers(["gpu", "list"], capsys) == (code, "", line + "\n")


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = answers(
        ["--debug", "occupancy", "--cc", "1.0", "--threads", "1", "--registers", "1"], capsys
    )
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: ")


def test_every_command_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    from experiments.cli.commands import COMMANDS

    _, overview, _ = answers(["--help"], capsys)
    for command in COMMANDS:
        assert command in overview
        code, text, _ = answers([command, "--help"], capsys)
        assert code == 0
        assert f"stallscope {command} " in text.split("examples:")[1]


def test_each_command_has_one_line_in_the_overview(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from experiments.cli.commands import COMMANDS

    monkeypatch.setenv("COLUMNS", "80")
    _, overview, _ = answers(["--help"], capsys)
    listed = overview.split("COMMAND\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(len(line.split()) > 2 for line in listed)


def test_help_answers_at_once_and_loads_nothing_heavy() -> None:
    probe = (
        "import sys, time; start = time.perf_counter(); from experiments.cli.entry import build_parser;"
        "build_parser().format_help(); print(time.perf_counter() - start);"
        "print(*(set(sys.modules) & {'numpy', 'pandas', 'onnx', 'matplotlib', 'simpy', 'simulator'}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    seconds, _, heavy = done.stdout.partition("\n")
    assert heavy.strip() == ""
    assert float(seconds) < 0.5


def test_a_reader_that_leaves_early_is_no_error() -> None:
    start = time.monotonic()
    program = "import sys; from experiments.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *QUESTION], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert time.monotonic() - start < 30


def test_gpu_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    import hwmodels

    cards = json.loads(answers(["gpu", "list", "--json"], capsys)[1])["cards"]
    assert [card["name"] for card in cards] == hwmodels.cards()
    document = json.loads(
        answers(["gpu", "show", "v100-sxm2-16gb", "--set", "gpu.sm_count=40", "--json"], capsys)[1]
    )
    values = {row["key"]: row["value"] for row in document["parameters"]}
    assert values["gpu.sm_count"] == 40
    assert all(row["unit"] and row["source"] and row["confidence"] for row in document["parameters"])
    _, words, _ = answers(["gpu", "show", "v100-sxm2-16gb"], capsys)
    assert all(key in words for key in values)

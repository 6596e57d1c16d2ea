"""Entry of the command line: parse, run the command, turn errors into one line and an exit code.

Exit codes: 0 done, 1 the run itself found something false (or we have a bug), 2 bad input, 130 interrupted.
Standard output carries results only; messages, logging and progress go to standard error. `--debug` shows the
traceback.
"""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from experiments.cli.commands import COMMANDS
from experiments.cli.parser import Parser
from hwmodels.errors import StallscopeError

DESCRIPTION = "Replay GPU kernels on a model of the memory hierarchy and see where the cycles go."

EXAMPLES = """\
examples:
  stallscope run copy --out results/copy                    the smallest experiment: tables and pictures
  stallscope gpu list                                       which cards there are
  stallscope gpu show a100-sxm-40gb                         every number with unit, source and confidence
  stallscope occupancy --gpu h100-sxm --threads 256 --registers 96 --shared 32768
  stallscope trace info kernel:copy,megabytes=4             what a shipped kernel does

`stallscope COMMAND --help` explains a command. Results go to standard output, messages to standard error.
Exit codes: 0 done, 1 the run found something false, 2 bad input, 130 interrupted.
"""

INTERRUPTED = 130


def build_parser() -> Parser:
    """The whole command line, without importing what the commands need to run."""
    parser = Parser(prog="stallscope", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and debug messages")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for module in COMMANDS.values():
        module.add_parser(commands).set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if debug else logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
        force=True,
    )
    # Other packages' chatter (fonts, plugins) is no help in finding our mistakes.
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    try:
        with _ended_politely():
            return _dispatch(words)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; point stdout elsewhere so that its last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except StallscopeError as error:
        return _report(str(error), error.exit_code, debug=debug)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _report(f"{place}{error.strerror or error}", 2, debug=debug)
    except Exception as error:
        text = f"internal error: {type(error).__name__}: {error}; --debug shows where"
        return _report(text, 1, debug=debug)


@contextmanager
def _ended_politely() -> Iterator[None]:
    """A polite request to end (SIGTERM) is answered as Ctrl-C is: nothing half-written, code 130."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _dispatch(words: list[str]) -> int:
    parser = build_parser()
    args = parser.parse_args(words)
    if args.version:
        import importlib.metadata

        print(f"stallscope {importlib.metadata.version('stallscope')}")
        return 0
    if args.command is None:
        parser.print_help()
        return 0
    code: int = args.run(args)
    sys.stdout.flush()
    return code


def _report(text: str, exit_code: int, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("error: " + " ".join(text.split()), file=sys.stderr)
    return exit_code

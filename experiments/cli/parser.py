"""An argument parser whose errors are one line with the nearest valid choice.

Abbreviated options are off: a misspelt option must never be taken for another one. A command's own parser
refuses what it does not know itself, so that the message names that command and its options.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NoReturn

from hwmodels.errors import InputError, unknown

MOST_LISTED = 12
"""So many values of an option stand in the error about a wrong one."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Texts as they are written, and room for the longest command beside its sentence."""

    def add_argument(self, action: argparse.Action) -> None:
        """As the base class, which forgets that commands stand two columns further in than options."""
        super().add_argument(action)
        for command in self._iter_indented_subactions(action):
            width = len(self._format_action_invocation(command)) + self._current_indent
            self._action_max_length = max(self._action_max_length, width)


class Parser(argparse.ArgumentParser):
    """`argparse` with our error messages; sub-parsers are made of this class too."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _Help)
        super().__init__(**options)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As the base class, but what is left over is an error here and now.

        Options are looked at first, so that a misspelt one is not reported as another one missing.
        """
        words = sys.argv[1:] if args is None else list(args)
        if self._subparsers is None:
            for word in takewhile(lambda word: word != "--", words):
                if word.startswith("--") and word.partition("=")[0] not in self._option_string_actions:
                    self._refuse(word)
        parsed, extra = super().parse_known_args(words, namespace)
        if extra:
            self._refuse(extra[0])
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Any other complaint of the base class."""
        raise InputError(self.prog, message, f"see {self.prog} --help")

    def _refuse(self, word: str) -> NoReturn:
        if word.startswith("-"):
            options = [name for action in self._actions for name in action.option_strings if name[:2] == "--"]
            raise unknown(self.prog, "option", word.partition("=")[0], options)
        raise InputError(self.prog, f"unexpected argument {word!r}", f"see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = action.option_strings[0] if action.option_strings else action.dest
            known = [str(choice) for choice in action.choices]
            error = unknown(self.prog, what, str(value), known)
            if action.option_strings and len(known) <= MOST_LISTED and "valid:" not in error.remedy:
                remedy = f"{error.remedy} (valid: {', '.join(known)})"
                raise InputError(error.place, error.problem, remedy)
            raise error

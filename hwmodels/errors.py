"""The errors that a person gets to see.

Each names a place (file, key, option), what is wrong there and what would be right, so that the command line
can print it as one line. `InputError` is the fault of what was given (exit code 2); `ResultError` says that a
run found something false, such as a violated identity (exit code 1). Anything else that is raised is a bug of
ours.
"""

from collections.abc import Iterable

MOST_LETTERS = 1600
"""Of a line for a person."""


class StallscopeError(Exception):
    """An error of one line: `PLACE: what is wrong; what would be right`. An empty remedy is left out."""

    exit_code = 1

    def __init__(self, place: str, problem: str, remedy: str = "") -> None:
        super().__init__(place, problem, remedy)
        self.place = place
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        line = f"{self.place}: {self.problem}" if self.place else self.problem
        if self.remedy:
            line = f"{line}; {self.remedy}"
        line = "".join(_visible(letter) for letter in " ".join(line.split()))
        # Of what a hostile file calls a name, the two ends are enough.
        return line if len(line) <= MOST_LETTERS else f"{line[:1200]} … {line[-300:]}"


def _visible(letter: str) -> str:
    """A letter that a terminal may be given; a hostile file's control characters are written out."""
    return letter if letter.isprintable() else repr(letter)[1:-1]


class InputError(StallscopeError):
    """Something that was given cannot be used: exit code 2."""

    exit_code = 2


class ResultError(StallscopeError):
    """The run itself found something false: exit code 1."""

    exit_code = 1


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice spelt most like `word`; "" where there is no choice at all."""
    import difflib

    folded = {choice.casefold(): choice for choice in sorted(choices)}
    # What was begun rightly and left off (`a100`) is nearer than what is spelt alike (`h100-sxm`).
    begun = [choice for choice in folded if word and choice.startswith(word.casefold())]
    close = difflib.get_close_matches(word.casefold(), begun or folded, n=1, cutoff=0.0)
    return folded[close[0]] if close else ""


def unknown(place: str, kind: str, word: str, choices: Iterable[str]) -> InputError:
    """The error for a name that does not exist: says the nearest valid one, and all where they are few."""
    known = sorted(choices)
    remedy = f"did you mean {nearest(word, known)!r}?" if known else "there is none to choose"
    if 1 < len(known) <= 8:
        remedy += f" (valid: {', '.join(known)})"
    return InputError(place, f"unknown {kind} {word!r}", remedy)

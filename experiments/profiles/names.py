"""Short names of kernels: without return type, namespaces, template arguments and parameters."""

import re

_PREFIX = re.compile(r"^(?:void|static|auto)\s+")
MAX_SHORT = 48


def short_name(name: str) -> str:
    """What a person would call the kernel."""
    text = _PREFIX.sub("", name).replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    head = re.split(r"[<(]", text, maxsplit=1)[0]
    word = head.rsplit("::", 1)[-1].strip() or text[:MAX_SHORT].strip()
    return word if len(word) <= MAX_SHORT else word[: MAX_SHORT - 1] + "…"


def template_arguments(name: str) -> list[str]:
    """The arguments of the kernel's own template, split at its commas; empty where it has none."""
    text = _PREFIX.sub("", name).replace("(anonymous namespace)", "anonymous")
    start = text.find("<")
    call = text.find("(")
    if start < 0 or 0 <= call < start:
        return []
    depth, begin = 0, start + 1
    found: list[str] = []
    for at in range(start, len(text)):
        mark = text[at]
        if mark in "<({[":
            depth += 1
        elif mark in ")}]" or (mark == ">" and text[at - 1] != "-"):
            depth -= 1
            if depth == 0:
                return [*found, text[begin:at].strip()]
        elif mark == "," and depth == 1:
            found.append(text[begin:at].strip())
            begin = at + 1
    return []

"""The list of the model's rules: pure functions, integers in and integers out, that both engines share.

A rule decides and never moves time. It uses only loops, integers and indexable sequences, so that an engine
may compile the very same source; this file merely lists the functions and leaves them plain Python, hence no
compiler is imported. A rule may call other rules, never an unlisted helper: the compiled engine knows only
what stands in the list.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

__all__ = ["listed_rules", "rule"]

Function = TypeVar("Function", bound=Callable[..., int])

_listed: dict[str, Callable[..., int]] = {}


def rule(function: Function) -> Function:
    """List `function` under its qualified name and return it unchanged."""
    _listed[f"{function.__module__}.{function.__qualname__}"] = function
    return function


def listed_rules() -> Mapping[str, Callable[..., int]]:
    """Every rule imported so far by qualified name, callees before callers (a read-only view)."""
    return MappingProxyType(_listed)

"""How many processors there are to share work among."""

import os


def processors() -> int:
    """Processors that this process may use: a container or `taskset` may leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

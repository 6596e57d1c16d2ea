"""Read or write: the rule of the watermarks by which a pseudo-channel turns its data bus.

Turning costs tens of clocks, so writes are kept until they make a batch: writing starts when the write queue
has reached its high mark, or when no read waits. The first kind of batch goes on down to the low mark; the
second gives way to the first read. Published copy bandwidths need batches of about 128.
"""

from hwmodels.rule import rule


@rule
def batch_due(writes: int, before: int, high: int, low: int) -> int:
    """1 while a batch of writes goes on, from the high mark to the low one; `before` is the last answer."""
    if writes >= high:
        return 1
    if writes <= low:
        return 0
    return before


@rule
def direction(mode: int, reads: int, writes: int, batch: int) -> int:
    """0 to read, 1 to write, from the present mode, the queued requests and :func:`batch_due`."""
    if mode == 0:
        if batch == 1 or (writes > 0 and reads == 0):
            return 1
        return 0
    if reads > 0 and batch == 0:
        return 0
    return 1

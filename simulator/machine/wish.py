"""What is wished of a replay while it runs."""

import enum


class Wish(enum.IntEnum):
    """What the person at the keyboard, or the system, wants of a running replay."""

    GO_ON = 0
    WRITE = 1
    WRITE_AND_STOP = 2

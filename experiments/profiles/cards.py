"""Which of our cards a profiled device is: by compute capability, SM count and the words of its name.

A device is a card only where capability and SM count agree; several that do are told apart by memory size and
form in the name. No guess is made beyond that.
"""

import re

from experiments.profiles.profile import Device
from hwmodels import Gpu, cards
from hwmodels.errors import InputError

GIGABYTE = 1 << 30


def card_for(device: Device) -> Gpu | None:
    """The card that fits a device best, None where none has its capability and SM count."""
    fitting = []
    for name in cards():
        gpu = Gpu.from_card(name)
        if str(gpu.compute_capability) == device.capability and gpu.sm_count == device.sm_count:
            fitting.append((-_likeness(name, device), name, gpu))
    return min(fitting, key=lambda one: one[:2])[2] if fitting else None


def chosen_card(name: str | None, device: Device | None, place: str) -> Gpu:
    """The card that was asked for, else the device's own; an InputError where there is neither."""
    if name is not None:
        return Gpu.from_card(name)
    gpu = card_for(device) if device is not None else None
    if gpu is None:
        what = device.name if device is not None else "the device, which the file does not describe,"
        raise InputError(place, f"{what} is none of our cards", "name one with --gpu CARD")
    return gpu


def _likeness(card: str, device: Device) -> int:
    """Words of the card's name that the device's name has, its memory among them; boards that do not call
    themselves PCIe are not.
    """
    words = set(re.findall(r"[a-z]+|\d+", device.name.lower()))
    if device.memory_bytes:
        words.add(str(round(device.memory_bytes / GIGABYTE, -1)))
    own = re.findall(r"[a-z]+|\d+", card)
    return sum(word in words for word in own) - ("pcie" in own and "pcie" not in words)

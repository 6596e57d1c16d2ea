"""The hardware as facts and arithmetic: descriptions, rules and cards. It holds no clock, queue or trace."""

from hwmodels.card_file import cards
from hwmodels.gpu import Gpu

__all__ = ["Gpu", "cards"]

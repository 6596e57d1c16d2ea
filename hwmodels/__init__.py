"""The hardware as facts and arithmetic: descriptions, rules, cards. No clock runs here, no queue, no trace."""

from hwmodels.card_file import cards
from hwmodels.gpu import Gpu

__all__ = ["Gpu", "cards"]

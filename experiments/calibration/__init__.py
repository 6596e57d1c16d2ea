"""Fits named, bounded parameters of a card to measured rows, and says how far the fit can be trusted."""

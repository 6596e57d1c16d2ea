"""Placeholder."""


def main() -> int:
    """Nothing yet."""
    return 0

"""Prices that outlive a run: a table in the user's cache folder, by signature. Several processes may read and
write it at once. Where the folder can't be written, prices are kept in memory only.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from simulator.fusion.price import Price
from simulator.machine.compiled.cache import user_folder

WAIT_S = 30.0


class Store:
    """Prices by signature, in memory and, if there is a folder, on disk."""

    def __init__(self, folder: Path | None = None, *, on_disk: bool = True) -> None:
        self.known: dict[str, Price] = {}
        self.path: Path | None = None
        if not on_disk:
            return
        place = folder or user_folder() / "stallscope" / "fusion"
        try:
            place.mkdir(parents=True, exist_ok=True)
            self.path = place / "prices.sqlite"
            with self.open() as table:
                table.execute("CREATE TABLE IF NOT EXISTS prices (signature TEXT PRIMARY KEY, price TEXT)")
        except (OSError, sqlite3.Error):
            self.path = None

    def open(self) -> sqlite3.Connection:
        """A connection for one use; others may write meanwhile."""
        return sqlite3.connect(str(self.path), timeout=WAIT_S)

    def get(self, signature: str) -> Price | None:
        """A price that was kept."""
        if signature in self.known:
            return self.known[signature]
        if self.path is None:
            return None
        try:
            with self.open() as table:
                row = table.execute("SELECT price FROM prices WHERE signature = ?", (signature,)).fetchone()
        except sqlite3.Error:
            return None
        if row is None:
            return None
        price = Price.of_plain(json.loads(row[0]))
        self.known[signature] = price
        return price

    def put(self, signature: str, price: Price) -> None:
        """Keep a price."""
        self.known[signature] = price
        if self.path is None:
            return
        try:
            with self.open() as table:
                table.execute(
                    "INSERT OR REPLACE INTO prices VALUES (?, ?)", (signature, json.dumps(price.plain()))
                )
        except sqlite3.Error:
            self.path = None

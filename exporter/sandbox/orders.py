"""The sample table of every database: orders that are placed and shipped as the sandbox's clock goes on."""

import math
import sqlite3
from typing import Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.timestamps import DAY, iso_naive

_INTERVAL_SECONDS: Final = 300
_KEPT_SECONDS: Final = 30 * DAY
_REGIONS: Final = ("eu", "us", "asia", "oceania")
# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_FOR_REGION, _FOR_CUSTOMER, _FOR_TOTAL, _FOR_SHIPPED, _FOR_DELAY = range(1, 6)
_FRESH_SECONDS: Final = 30.0
# Only ids that `Orders` assigns: a client may have inserted other ids, or replaced the table by one with text ids.
_WAITING: Final = "SELECT id FROM orders WHERE shipped IS NULL AND typeof(id) = 'integer' AND id BETWEEN ? AND ?"
_SCHEMA: Final = """
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    region TEXT NOT NULL,
    customer TEXT NOT NULL,
    total REAL NOT NULL,
    placed TEXT NOT NULL,
    shipped TEXT
)
"""


class Orders:
    """The table `orders`. An update fills the table with an order for every five minutes of the last thirty days."""

    def __init__(self, noise: Noise, connection: sqlite3.Connection) -> None:
        self._noise = noise
        self._connection = connection
        # The world's time at the last update; -inf before the first update.
        self._updated_at = -math.inf
        connection.execute(_SCHEMA)

    def refresh(self, now: float) -> None:
        """Bring the table up to date for the time `now`, if the last update was at least 30 seconds before.

        Raises:
            sqlite3.Error: the update failed.
        """
        if now - self._updated_at < _FRESH_SECONDS:
            return
        oldest = now - _KEPT_SECONDS
        since = max(self._updated_at, oldest)
        # The number of an order is the time when it was placed, divided by the interval. An order placed at `since` is
        # left out: the last update has inserted it, or it is too old.
        first, last = int(since // _INTERVAL_SECONDS) + 1, int(now // _INTERVAL_SECONDS)
        new = [self._order(number, now) for number in range(first, last + 1)]
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            # A client may have inserted an order with one of these numbers.
            self._connection.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?)", new)
            waiting = self._connection.execute(_WAITING, (int(oldest // _INTERVAL_SECONDS), last)).fetchall()
            shipped = [(self._shipped_at(number, now), number) for (number,) in waiting]
            self._connection.executemany("UPDATE orders SET shipped = ? WHERE id = ?", shipped)
            self._connection.execute("DELETE FROM orders WHERE placed <= ?", (iso_naive(oldest),))
        self._updated_at = now

    def _order(self, number: int, now: float) -> tuple[int, str, str, float, str, str | None]:
        """Return the row of an order, with the columns in the order of `_SCHEMA`."""
        total = 5 * (60 ** self._noise.fraction(_FOR_TOTAL, number))  # from 5 to 300, mostly small
        return (
            number,
            self._noise.choice(_REGIONS, _FOR_REGION, number),
            f"customer-{self._noise.whole(1, 400, _FOR_CUSTOMER, number)}",
            round(total, 2),
            iso_naive(number * _INTERVAL_SECONDS),
            self._shipped_at(number, now),
        )

    def _shipped_at(self, number: int, now: float) -> str | None:
        """Return when an order was shipped; None for an order that is not shipped yet, or that never will be."""
        if not self._noise.chance(0.98, _FOR_SHIPPED, number):
            return None
        moment = number * _INTERVAL_SECONDS + self._noise.between(1_800, 1.5 * DAY, _FOR_DELAY, number)
        return iso_naive(moment) if moment <= now else None

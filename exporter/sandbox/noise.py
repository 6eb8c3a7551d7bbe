"""Seeded noise: numbers that are pure functions of a seed and of arguments."""

import uuid
import zlib
from collections.abc import Sequence
from typing import Final, TypeVar

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_T = TypeVar("_T")


class Noise:
    """Computes numbers without state, so that any moment of any resource can be read in any order."""

    def __init__(self, seed: int) -> None:
        self._seed = seed & _MASK

    def branch(self, area: str) -> "Noise":
        """Return the noise of an area of the world, independent of other areas."""
        return self.narrowed(zlib.crc32(area.encode()))

    def narrowed(self, *parts: int) -> "Noise":
        """Return noise whose numbers also depend on these parts, which are hashed only once."""
        return Noise(self.number(*parts))

    def number(self, *parts: int) -> int:
        """Return 64 bits that depend on the seed and the parts alone."""
        mixed = self._seed
        for part in parts:
            mixed = (mixed ^ (part & _MASK)) * 0x9E3779B97F4A7C15 & _MASK
            mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93 & _MASK
            mixed ^= mixed >> 29
        return mixed

    def fraction(self, *parts: int) -> float:
        """Return a number that is at least 0 and less than 1."""
        return (self.number(*parts) >> 11) / 9007199254740992.0

    def between(self, low: float, high: float, *parts: int) -> float:
        """Return a number from low up to high."""
        return low + (high - low) * self.fraction(*parts)

    def whole(self, low: int, high: int, *parts: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + self.number(*parts) % (high - low + 1)

    def choice(self, options: Sequence[_T], *parts: int) -> _T:
        """Return one of the options."""
        return options[self.number(*parts) % len(options)]

    def chance(self, probability: float, *parts: int) -> bool:
        """Return whether an event of this probability occurs."""
        return self.fraction(*parts) < probability

    def guid(self, *parts: int) -> str:
        """Return a GUID."""
        high, low = self.number(*parts, 1), self.number(*parts, 2)
        return str(uuid.UUID(int=(high << 64) | low, version=4))

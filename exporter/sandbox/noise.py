"""Random-looking numbers that are computed from a seed and from arguments."""

import uuid
import zlib
from collections.abc import Sequence
from typing import Final, TypeVar

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_T = TypeVar("_T")


class Noise:
    """Computes numbers from a seed and from `parts`, such as the id of a resource and the number of a day."""

    def __init__(self, seed: int) -> None:
        self._seed = seed & _MASK

    def branch(self, area: str) -> "Noise":
        """Return the noise for an area of the world."""
        return self.narrowed(zlib.crc32(area.encode()))

    def narrowed(self, *parts: int) -> "Noise":
        """Return a `Noise` whose numbers also depend on these parts."""
        return Noise(self.number(*parts))

    def number(self, *parts: int) -> int:
        """Return a number of 64 bits."""
        # As in hash functions: multiplications and shifts spread each part over all bits.
        mixed = self._seed
        for part in parts:
            mixed = (mixed ^ (part & _MASK)) * 0x9E3779B97F4A7C15 & _MASK
            mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93 & _MASK
            mixed ^= mixed >> 29
        return mixed

    def fraction(self, *parts: int) -> float:
        """Return a number that is at least 0 and less than 1."""
        return (self.number(*parts) >> 11) / 2**53  # a float is exact up to 53 bits

    def between(self, low: float, high: float, *parts: int) -> float:
        """Return a number between low and high."""
        return low + (high - low) * self.fraction(*parts)

    def whole(self, low: int, high: int, *parts: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + self.number(*parts) % (high - low + 1)

    def choice(self, options: Sequence[_T], *parts: int) -> _T:
        """Return one of the options."""
        return options[self.number(*parts) % len(options)]

    def chance(self, probability: float, *parts: int) -> bool:
        """Return True with this probability."""
        return self.fraction(*parts) < probability

    def guid(self, *parts: int) -> str:
        """Return a GUID."""
        high, low = self.number(*parts, 1), self.number(*parts, 2)
        return str(uuid.UUID(int=(high << 64) | low, version=4))

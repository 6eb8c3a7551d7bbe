"""Defines the colours of values, and the words that are shown in place of values."""

from dataclasses import dataclass
from enum import StrEnum


class Colour(StrEnum):
    """Colours by their meaning; the values are Grafana's names."""

    GOOD = "green"
    WARN = "orange"
    BAD = "red"
    INFO = "blue"
    HINT = "purple"
    QUIET = "text"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The colour of a value: that of the last step at or below it, or `base` below all steps."""

    base: Colour
    steps: tuple[tuple[float, Colour], ...] = ()

    @property
    def colours(self) -> frozenset[Colour]:
        """All colours that a value can have."""
        return frozenset({self.base, *(colour for _, colour in self.steps)})


NEUTRAL = Thresholds(Colour.INFO)


def red_from(value: float) -> Thresholds:
    """Colour values green below a limit, and red from it on."""
    return Thresholds(Colour.GOOD, ((value, Colour.BAD),))


RED_FROM_ONE = red_from(1)


def warn_from(value: float) -> Thresholds:
    """Colour values green below a limit, and orange from it on."""
    return Thresholds(Colour.GOOD, ((value, Colour.WARN),))


def warn_then_red(warn: float, bad: float) -> Thresholds:
    """Colour values green below the first limit, red from the second one on, and orange between them."""
    return Thresholds(Colour.GOOD, ((warn, Colour.WARN), (bad, Colour.BAD)))


def red_then_warn(bad_below: float, warn_below: float) -> Thresholds:
    """Colour values red below the first limit, green from the second one on, and orange between them."""
    return Thresholds(Colour.BAD, ((bad_below, Colour.WARN), (warn_below, Colour.GOOD)))


@dataclass(frozen=True, slots=True)
class Word:
    """A value that is shown as a word."""

    value: str
    text: str
    colour: Colour


UP_OR_DOWN = (Word("1", "up", Colour.GOOD), Word("0", "DOWN", Colour.BAD))
ON_OR_OFF = (Word("1", "on", Colour.GOOD), Word("0", "OFF", Colour.BAD))
YES_OR_NO = (Word("1", "yes", Colour.QUIET), Word("0", "no", Colour.QUIET))
MODE_WORDS = (Word("block", "block", Colour.GOOD), Word("log", "log", Colour.WARN), Word("off", "off", Colour.BAD))
ACTION_PAINT = (
    ("logged", Colour.INFO),
    ("challenged", Colour.WARN),
    ("blocked", Colour.BAD),
    ("unclassified", Colour.HINT),
)

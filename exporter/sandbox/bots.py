"""Bots: the actions of a shield zone for their categories, and their detection."""

from enum import IntEnum
from typing import Any, Final

from exporter.sandbox.noise import Noise

_ACTION, _SENSITIVITY, _COMPLEX, _MODE = range(1, 5)
_VARIETY: Final = 5
_WITH_NULLS: Final = 0


class BotAction(IntEnum):
    """The action for a category of bots."""

    NONE = 0
    BLOCK = 1
    ALLOW = 2


class Bots:
    """Bot categorisation and bot detection of every shield zone."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._actions: dict[tuple[int, int], BotAction] = {}

    def action(self, shield_zone_id: int, category: int) -> BotAction:
        """Return the action of a shield zone for a category."""
        chosen = self._actions.get((shield_zone_id, category))
        return BotAction(self._noise.whole(0, 2, _ACTION, shield_zone_id, category)) if chosen is None else chosen

    def set_action(self, shield_zone_id: int, category: int, action: BotAction) -> None:
        """Set the action of a shield zone for a category."""
        self._actions[shield_zone_id, category] = action

    def detection(self, shield_zone_id: int) -> dict[str, Any]:
        """Return the bot detection of a shield zone as the platform sends it."""
        noise = self._noise
        sensitivities = [noise.whole(1, 3, _SENSITIVITY, shield_zone_id, signal) for signal in range(3)]
        has_nulls = shield_zone_id % _VARIETY == _WITH_NULLS
        return {
            "requestIntegrity": {"sensitivity": sensitivities[0]},
            "ipAddress": None if has_nulls else {"sensitivity": sensitivities[1]},
            "browserFingerprint": {
                "sensitivity": None if has_nulls else sensitivities[2],
                "aggression": noise.whole(0, 4, _SENSITIVITY, shield_zone_id, 3),
                "complexEnabled": shield_zone_id % 2 == 1,
            },
            "executionMode": noise.whole(0, 1, _MODE, shield_zone_id),
            "shieldZoneId": shield_zone_id,
        }

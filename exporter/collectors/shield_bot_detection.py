"""Bot detection of shield zones (interface document, BotDetectionConfiguration)."""

from exporter.collectors.collector import TargetCollector, calling, enum_samples, identity, own_id
from exporter.metric import Metric
from exporter.platform.api import shield
from exporter.platform.api.shield_models import BOT_SENSITIVITY, BotDetectionConfiguration


def _sensitivity(bots: BotDetectionConfiguration) -> dict[tuple[str, ...], float]:
    """Return (signal, level) → 1 for the signal's current level, 0 for other levels."""
    signals = {
        "request_integrity": bots.request_integrity,
        "ip_address": bots.ip_address,
        "browser_fingerprint": bots.browser_fingerprint,
    }
    sensitivity: dict[tuple[str, ...], float] = {}
    for name, signal in signals.items():
        levels = {} if signal is None else enum_samples(signal.sensitivity, BOT_SENSITIVITY)
        for level, is_current in levels.items():
            sensitivity[name, level] = is_current
    return sensitivity


COLLECTOR: TargetCollector[BotDetectionConfiguration] = TargetCollector(
    name="shield_bot_detection",
    polls="shield_zone",
    interval=900,
    operations=(shield.BOT_DETECTION,),
    fetch=calling(shield.BOT_DETECTION, shieldZoneId=own_id),
    labels=identity("shield_zone_id"),
    metrics=(
        Metric(
            "edge_shield_bot_detection_sensitivity",
            "Sensitivity of a signal of bot detection (requestIntegrity, ipAddress, browserFingerprint), polled: "
            "1 for the current level, 0 for the others.",
            labels=("signal", "level"),
            value=_sensitivity,
        ),
        Metric(
            "edge_shield_bot_detection_complex_fingerprint_enabled",
            "Whether bot detection uses complex browser fingerprints (browserFingerprint.complexEnabled), polled.",
            value=lambda bots: (
                bots.browser_fingerprint.complex_enabled if bots.browser_fingerprint is not None else None
            ),
        ),
    ),
)

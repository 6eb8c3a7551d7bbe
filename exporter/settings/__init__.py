"""The settings: flags, environment variables and a YAML file as one model."""

from exporter.settings.account import (
    AccessListSettings,
    AccountSettings,
    BudgetSettings,
    DnsZonesSettings,
    IdsFile,
    ImageSettings,
    RateLimitSettings,
    ScriptsSettings,
    ShieldZonesSettings,
    WafCustomRuleSettings,
)
from exporter.settings.database import DatabaseSettings, QuerySettings
from exporter.settings.faults import Fault
from exporter.settings.flags import Flag, flags
from exporter.settings.loading import SettingsError, configuration_file, load, load_over, read_file
from exporter.settings.model import Settings
from exporter.settings.secrets import SecretFileError, read_secret
from exporter.settings.service import (
    CollectorSettings,
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardOrdinalError,
    ShardSettings,
    StateSettings,
    WebSettings,
)
from exporter.settings.types import ListenAddress, format_duration, parse_duration

__all__ = [
    "AccessListSettings",
    "AccountSettings",
    "BudgetSettings",
    "CollectorSettings",
    "CollectorsSettings",
    "DatabaseSettings",
    "DnsZonesSettings",
    "Fault",
    "Flag",
    "IdsFile",
    "ImageSettings",
    "ListenAddress",
    "LogSettings",
    "QuerySettings",
    "RateLimitSettings",
    "ScriptsSettings",
    "SecretFileError",
    "SeriesSettings",
    "Settings",
    "SettingsError",
    "ShardOrdinalError",
    "ShardSettings",
    "ShieldZonesSettings",
    "StateSettings",
    "WafCustomRuleSettings",
    "WebSettings",
    "configuration_file",
    "flags",
    "format_duration",
    "load",
    "load_over",
    "parse_duration",
    "read_file",
    "read_secret",
]

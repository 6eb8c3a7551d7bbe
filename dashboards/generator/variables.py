"""Defines the choices at the top of the pages."""

from dashboards.generator.page import Variable
from dashboards.generator.promql import highest
from dashboards.generator.selectors import ACCOUNT, gauge, series


def _by_name(name: str, title: str, about: str, family: str, *, value: str, text: str) -> Variable:
    return Variable(name, title, about, highest(gauge(family, ACCOUNT), text, value), value, text)


_ANY_JOB = "The scrape job of the exporter, for a Prometheus that scrapes more than one installation."
_BUILD = "edge_exporter_build_info"
JOB = Variable("job", "Job", _ANY_JOB, _BUILD, "job")
_PROCESS = "One process of the exporter: a replica or a shard."
INSTANCE = Variable("instance", "Instance", _PROCESS, series(_BUILD), "instance")
ACCOUNTS = Variable("account", "Account", "An account of the configuration.", series("edge_up"), "account")
_DATABASE = "A database of the configuration."
DATABASES = Variable("database", "Database", _DATABASE, series("edge_database_up"), "database")
_ZONE = "A DNS zone: shown by its domain, chosen by its id."
ZONES = _by_name("zone", "DNS zone", _ZONE, "edge_dns_window_queries", value="zone_id", text="domain")
_SCRIPT = "An edge script: shown by its name, chosen by its id."
SCRIPTS = _by_name("script", "Script", _SCRIPT, "edge_script_info", value="script_id", text="script")
_SHIELD_ZONE = "A shield zone: shown by its pull zone's name, if that is known, chosen by its id."
SHIELD_ZONES = _by_name(
    "shield_zone", "Shield zone", _SHIELD_ZONE, "edge_shield_zone_info", value="shield_zone_id", text="pull_zone"
)

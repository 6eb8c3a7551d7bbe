"""Defines the choices at the top of the pages; All is the expression `.*`."""

from dashboards.generator.page import Variable
from dashboards.generator.promql import highest
from dashboards.generator.selectors import ACCOUNT, gauge, series

JOB = Variable(
    name="job",
    title="Job",
    about="The scrape job of the exporter, for a Prometheus that scrapes more than one installation.",
    expr="edge_exporter_build_info",
    value="job",
)
INSTANCE = Variable(
    name="instance",
    title="Instance",
    about="One process of the exporter: a replica or a shard.",
    expr=series("edge_exporter_build_info"),
    value="instance",
)
ACCOUNTS = Variable(
    name="account",
    title="Account",
    about="An account of the configuration.",
    expr=series("edge_up"),
    value="account",
)
ZONES = Variable(
    name="zone",
    title="DNS zone",
    about="A DNS zone: shown by its domain, chosen by its id.",
    expr=highest(gauge("edge_dns_window_queries", ACCOUNT), "domain", "zone_id"),
    value="zone_id",
    text="domain",
)
SCRIPTS = Variable(
    name="script",
    title="Script",
    about="An edge script: shown by its name, chosen by its id.",
    expr=highest(gauge("edge_script_info", ACCOUNT), "script", "script_id"),
    value="script_id",
    text="script",
)
SHIELD_ZONES = Variable(
    name="shield_zone",
    title="Shield zone",
    about="A shield zone: shown by its pull zone's name where that is known, chosen by its id.",
    expr=highest(gauge("edge_shield_zone_info", ACCOUNT), "pull_zone", "shield_zone_id"),
    value="shield_zone_id",
    text="pull_zone",
)
DATABASES = Variable(
    name="database",
    title="Database",
    about="A database of the configuration.",
    expr=series("edge_database_up"),
    value="database",
)

"""Defines columns that more than one table uses."""

from dashboards.generator import links
from dashboards.generator.colours import warn_then_red
from dashboards.generator.page import Column, Query
from dashboards.generator.promql import milliseconds

ACCOUNT = Column("Account", label="account", link=links.to(links.EXPORTER, account="Account"))
ZONE_ID = Column("Zone", label="zone_id", width=80, link=links.to(links.ZONE, account="Account", zone="Zone"))
DOMAIN = Column("Domain", label="domain", link=links.to(links.ZONE, account="Account", zone="Zone"))
SCRIPT_ID = Column("Id", label="script_id", width=70)
SCRIPT = Column("Script", label="script", link=links.to(links.SCRIPTS, account="Account", script="Id"))
_SHIELD_ZONE = links.to(links.SHIELD, account="Account", shield_zone="Zone")
SHIELD_ZONE = Column("Zone", label="shield_zone_id", width=70, link=_SHIELD_ZONE)
PULL_ZONE = Column("Pull zone", label="pull_zone", link=_SHIELD_ZONE)
OF_ZONE, OF_SCRIPT = (ACCOUNT, ZONE_ID, DOMAIN), (ACCOUNT, SCRIPT_ID, SCRIPT)
OF_SHIELD_ZONE = (ACCOUNT, SHIELD_ZONE, PULL_ZONE)


def share(title: str, query: str | Query, width: int | None = None) -> Column:
    """Make a column for the share of a limit: orange from 80 %, red from 100 % on."""
    return Column(title, query, unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1), width=width)


def moment(title: str, seconds: str, width: int | None = None) -> Column:
    """Make a column for a query that returns a unix time in seconds; the column shows how long ago it was."""
    return Column(title, milliseconds(seconds), unit="dateTimeFromNow", width=width)

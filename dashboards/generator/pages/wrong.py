"""The Overview page's row of what is wrong now: what stands out in the newest values, and the alerts."""

from dashboards.generator import columns, links
from dashboards.generator.colours import Colour, Word
from dashboards.generator.page import Column, Table
from dashboards.generator.panels import panel, row
from dashboards.generator.queries import alerts, findings, subject

_SEVERITIES = (
    Word("critical", "critical", Colour.BAD),
    Word("warning", "warning", Colour.WARN),
    Word("info", "info", Colour.INFO),
)
_ACCOUNT = Column("Account", label="account", width=140, link=columns.ACCOUNT.link)

WRONG = row(
    "What is wrong",
    (24, 24),
    panel(
        "What stands out now",
        "What the newest values say is wrong, without any alert and without waiting; at most 20 rows of a kind. What is"
        " usual for a zone is what the shipped rules recorded a day and a week ago, or else the hour before.",
        "Follow the row to the page of what it is about. `act now` is protection, an account or the exporter itself;"
        " `check` may have a good reason.",
        Table(height=5, none="Nothing stands out.", sort="Urgency"),
        Column("Urgency", findings.FOUND, words=findings.URGENCIES, width=100),
        Column("What", label="what", width=220),
        subject.ABOUT,
        Column("Figure", label="figure", width=190),
        _ACCOUNT,
        *subject.HIDDEN,
    ),
    panel(
        "Alerts",
        "Every alert of the shipped rules, pending and firing, the firing and critical ones first. Those that"
        " Alertmanager holds back, because another one says more, are said to follow.",
        "Follow an alert's name to its runbook, and what it is about to its page. Pending ones fire if they last.",
        Table(
            height=6,
            none="No alert is pending or fires.",
            sort="State",
        ),
        Column("State", alerts.ALERTS, words=alerts.STATES, width=85),
        Column("Severity", label="severity", width=100, words=_SEVERITIES),
        Column("Alert", label="alertname", width=260, link=links.runbook("Alert")),
        subject.ABOUT,
        _ACCOUNT,
        Column("For", alerts.SINCE, unit="s", width=80, decimals=0),
        *subject.HIDDEN,
    ),
)

from pathlib import Path

import pytest

from exporter.collectors.catalogue import families
from exporter.collectors.causes import Cause, cause_of
from exporter.explain.evidence import source_fields
from exporter.platform import errors

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
# Families that are read from an answer as a whole, and not from a field of it.
WITHOUT_FIELD = {
    "edge_dns_record_scan_found",
    "edge_database_up",
    "edge_database_query_duration_seconds",
    "edge_database_query_rows",
    "edge_database_query_interval_seconds",
}


def test_every_cause_has_one_text_and_one_advice() -> None:
    assert len({(cause.text, cause.advice) for cause in Cause}) == len({cause.text for cause in Cause}) == len(Cause)


def test_the_page_about_empty_panels_has_every_cause_in_its_words() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{cause}` | {cause.text} | {cause.advice} |" for cause in Cause]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (errors.Unauthorized("no"), Cause.KEY_REFUSED),
        (errors.CredentialError("no"), Cause.KEY_REFUSED),
        (errors.Forbidden("no"), Cause.KEY_FORBIDDEN),
        (errors.NotAvailable("no"), Cause.NOT_AVAILABLE),
        (errors.OutOfRange("no"), Cause.OUT_OF_RANGE),
        (errors.WrongShape("no"), Cause.FAILING),
        (errors.NotFound("no"), Cause.FAILING),
        (errors.Refused("no"), Cause.FAILING),
    ],
)
def test_a_failed_poll_stands_for_a_cause(error: errors.PlatformError, cause: Cause) -> None:
    assert cause_of(error) is cause


def test_the_help_of_every_family_names_its_source_fields() -> None:
    silent = {info.name for info in families() if not source_fields(info.help)}
    assert silent == WITHOUT_FIELD

"""Checks every query of the dashboards against the existing families."""

import re
from datetime import timedelta

import pytest
from promql_parser import AggModifierType, AggregateExpr, MatchOp

from dashboards.generator.all_pages import PAGES
from tests.dashboards.expressions import RANGE, RATE_INTERVAL, parse, seconds, selected, walk
from tests.dashboards.families import OTHERS, USERS_FAMILY, family_of, known_families, reasons
from tests.dashboards.uses import USES, Kind, Use

KNOWN = known_families()

every_query = pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.page} {use.kind.value}: {use.place}")


@every_query
def test_takes_rates_of_counters_and_of_nothing_else(use: Use) -> None:
    for found in selected(use):
        known = KNOWN[family_of(found.name)] if found.name else None
        assert known is None or (found.call in {"rate", "increase"}) == (known.counter or known.histogram), found.name


@every_query
def test_rates_span_grafanas_interval_and_increases_one_that_their_words_name(use: Use) -> None:
    for found in selected(use):
        if found.call == "rate":
            assert found.range == RATE_INTERVAL
        if found.call == "increase":
            assert found.range in {RANGE, *(timedelta(minutes=length) for length in (3, 5, 15, 20, 60, 1440))}


@every_query
def test_is_not_finer_than_its_collector(use: Use) -> None:
    """The smallest step of a rate is the interval of its counters' collector, and never below 1m.

    Queries of the past may be coarser, because backfilled samples are further apart.
    """
    counters = [KNOWN[family_of(found.name)] for found in selected(use) if found.call == "rate"]
    slowest_counter = max((known.polled_every for known in counters), default=0.0)
    assert seconds(use.query.step) >= 60
    looks_back = use.query.step == "1d" or " offset " in use.query.expr
    if slowest_counter and not looks_back:
        assert seconds(use.query.step) == slowest_counter


@every_query
def test_counts_a_target_once_however_many_exporters_serve_it(use: Use) -> None:
    for found in selected(use):
        of_process = found.name and KNOWN[family_of(found.name)].of_process
        is_list = use.kind is Kind.VARIABLE and not found.around
        assert of_process or is_list or found.aggregation == "max without (instance, pod)", found.name


@every_query
def test_is_narrowed_by_the_choices_of_its_page(use: Use) -> None:
    page = next(page for page in PAGES if page.uid == use.page)
    names = {variable.name for variable in page.variables}
    chooses = use.place if use.kind is Kind.VARIABLE else None
    for found in selected(use):
        if found.name.startswith("ALERTS") or ":" in found.name or chooses == "job":
            continue
        assert "job" in found.labels, found.name
        assert "last_success" not in found.name or "_interval_" not in use.query.expr or "collector" in found.labels
        if found.name and "account" in KNOWN[family_of(found.name)].labels and chooses != "account":
            assert "account" in found.labels, found.name
    assert set(re.findall(r"\$([a-z_]+)", re.sub(r"\$__\w+", "", use.query.expr))) <= names | {"top"}


@every_query
def test_tables_that_could_have_thousands_of_rows_are_limited(use: Use) -> None:
    panel = next((panel for page in PAGES for panel in page.panels if panel.title == use.place), None)
    if panel is None or use.kind is not Kind.PANEL or not use.instant:
        return
    aggregations = [(part, around) for part, around in walk(parse(use)) if isinstance(part, AggregateExpr)]
    kept = {
        label
        for part, around in aggregations
        if part.modifier and part.modifier.type == AggModifierType.By
        if not any(isinstance(outer, AggregateExpr) for outer in around)
        for label in part.modifier.labels
    }
    if any(label.endswith("_id") or label in {"target", "operation"} for label in kept):
        assert {str(part.op) for part, _ in aggregations} & {"topk", "bottomk"}


def test_every_family_stands_on_a_dashboard() -> None:
    shown = {family_of(found.name) for use in USES if use.kind is not Kind.VARIABLE for found in selected(use)}
    assert KNOWN.keys() - OTHERS.keys() - shown == set(), "no panel in dashboards/generator/pages/ shows these"


def test_users_families_stand_on_a_dashboard() -> None:
    matchers = [matcher for use in USES for found in selected(use) for matcher in found.selector.matchers.matchers]
    patterns = {matcher.value for matcher in matchers if matcher.name == "__name__" and matcher.op == MatchOp.Re}
    assert patterns == {USERS_FAMILY}


def test_reasons_in_the_words_are_those_of_the_errors() -> None:
    texts = [panel.act for page in PAGES for panel in page.panels if panel.title == "Failed calls by reason"]
    explained = {reason for text in texts for reason in re.findall(r"`([a-z_]+)`", text)}
    assert explained
    assert explained - reasons() == set()

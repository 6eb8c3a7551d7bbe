"""Checks every query of the dashboards against the existing families."""

import re
import subprocess
import sys

import promql_parser
from promql_parser import AggModifierType, AggregateExpr, MatchOp

from dashboards.generator.inventory import PAGES, Kind, Use, filled_in, queries
from exporter.platform import errors
from tests.dashboards.expressions import RANGE, RATE_INTERVAL, labels_kept, parse, selected, walk
from tests.dashboards.families import (
    OTHERS,
    SCRAPE_LABELS,
    USERS_FAMILY,
    family_of,
    known_families,
)
from tests.for_each import for_each

USES = queries()
KNOWN = known_families()

every_query = for_each("use", USES, name=lambda use: f"{use.page} {use.kind.value}: {use.place}")


def seconds(step: str) -> int:
    """Return the seconds of a duration in Grafana's notation."""
    return int(step[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[step[-1]]


@every_query
def test_parses(use: Use) -> None:
    """A query is PromQL once its variables have values."""
    text = filled_in(use)

    assert "$" not in text.replace("$1", "")
    promql_parser.parse(text)


@every_query
def test_names_families_that_exist(use: Use) -> None:
    """Every series that a query names is of a known family."""
    unknown = {found.name for found in selected(use) if found.name and family_of(found.name) not in KNOWN}

    assert unknown == set()


@every_query
def test_matches_and_groups_by_labels_that_exist(use: Use) -> None:
    """A query matches and groups only by labels that its families have."""
    found = selected(use)
    labels = SCRAPE_LABELS.union(*(KNOWN[family_of(part.name)].labels for part in found if part.name))
    # Labels that label_replace adds.
    labels |= set(re.findall(r', "([a-z_]+)", "[^"]*\$1', use.expr))
    if any(part.name.endswith("_bucket") for part in found):
        labels |= {"le"}
    if any(not part.name for part in found):
        labels |= {"__name__", "database"}
    matched = {matcher.name for part in found for matcher in part.selector.matchers.matchers}

    assert matched - labels == set()
    assert labels_kept(parse(use)) - labels == set()


@every_query
def test_takes_rates_of_counters_and_of_nothing_else(use: Use) -> None:
    """Counters are only used inside rate or increase, and these contain only counters."""
    for found in selected(use):
        if not found.name:
            continue
        known = KNOWN[family_of(found.name)]
        is_counter = known.counter or known.histogram

        assert (found.call in {"rate", "increase"}) == is_counter, found.name


@every_query
def test_rates_span_grafanas_interval(use: Use) -> None:
    """A rate is over $__rate_interval; an increase may be over a length that its words name."""
    for found in selected(use):
        if found.call == "rate":
            assert found.range == RATE_INTERVAL
        if found.call == "increase":
            assert found.range in {
                RANGE,
                *(promql_parser.parse_duration(length) for length in ("3m", "5m", "15m", "20m", "1h", "1d")),
            }


@every_query
def test_is_not_finer_than_its_collector(use: Use) -> None:
    """The smallest step of a rate is the interval of its counters' collector, and never below 1m.

    Queries of the past may be coarser, because backfilled samples are further apart.
    """
    counters = [KNOWN[family_of(found.name)] for found in selected(use) if found.call == "rate"]
    slowest_counter = max((known.polled_every for known in counters), default=0.0)

    assert seconds(use.step) >= 60
    looks_back = use.step == "1d" or " offset " in use.expr
    if slowest_counter and not looks_back:
        assert seconds(use.step) == slowest_counter


@every_query
def test_counts_a_target_once_however_many_exporters_serve_it(use: Use) -> None:
    """A platform metric is first reduced to the maximum over instances and pods."""
    for found in selected(use):
        if found.name and KNOWN[family_of(found.name)].of_process:
            continue
        if use.kind is Kind.VARIABLE and not found.around:
            continue

        assert found.aggregation == "max without (instance, pod)", found.name


@every_query
def test_is_narrowed_by_the_choices_of_its_page(use: Use) -> None:
    """Every query follows the choice of job, and of account where its families have one."""
    page = next(page for page in PAGES if page.uid == use.page)
    names = {variable.name for variable in page.variables}
    for found in selected(use):
        matched = {matcher.name for matcher in found.selector.matchers.matchers}
        if found.name.startswith("ALERTS") or ":" in found.name or (use.kind, use.place) == (Kind.VARIABLE, "job"):
            continue

        assert "job" in matched, found.name
        if (
            found.name
            and "account" in KNOWN[family_of(found.name)].labels
            and (use.kind, use.place) != (Kind.VARIABLE, "account")
        ):
            assert "account" in matched, found.name
    assert set(re.findall(r"\$([a-z_]+)", re.sub(r"\$__\w+", "", use.expr))) <= names | {"top"}


@every_query
def test_choices_are_matched_by_expressions(use: Use) -> None:
    """All is the expression `.*`, so no choice may be compared for equality."""
    for found in selected(use):
        for matcher in found.selector.matchers.matchers:
            if matcher.value == ".*":
                assert matcher.op == MatchOp.Re


@every_query
def test_lists_are_limited(use: Use) -> None:
    """A table that could have thousands of rows is limited by topk or bottomk."""
    panel = next((panel for page in PAGES for panel in page.panels if panel.title == use.place), None)
    if panel is None or use.kind is not Kind.PANEL or not use.instant:
        return
    per_thing = {"zone_id", "script_id", "rate_limit_id", "shield_zone_id", "target", "access_list_id", "rule_id"}
    tree = parse(use)
    kept = {
        label
        for part, around in walk(tree)
        if isinstance(part, AggregateExpr)
        and part.modifier
        and part.modifier.type == AggModifierType.By
        and not any(isinstance(outer, AggregateExpr) for outer in around)
        for label in part.modifier.labels
    }
    if kept & per_thing:
        operators = {str(part.op) for part, _ in walk(tree) if isinstance(part, AggregateExpr)}

        assert operators & {"topk", "bottomk"}


def test_every_family_stands_on_a_dashboard() -> None:
    """Every family of a collector and of the program itself has a panel, written by hand or generated."""
    shown = {
        family_of(found.name) for use in USES for found in selected(use) if use.kind is not Kind.VARIABLE and found.name
    }

    assert KNOWN.keys() - OTHERS.keys() - shown == set(), "no query in dashboards/generator/queries/ shows these"


def test_users_families_stand_on_a_dashboard() -> None:
    """Families of users' queries, whose names are not known in advance, have panels, too."""
    patterns = {
        matcher.value
        for use in USES
        for found in selected(use)
        for matcher in found.selector.matchers.matchers
        if matcher.name == "__name__" and matcher.op == MatchOp.Re
    }

    assert patterns == {USERS_FAMILY}


def test_reasons_in_the_words_are_those_of_the_errors() -> None:
    """The reasons in a description exist in the program."""
    reasons = {
        error.reason
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.PlatformError)
    }
    explained = {
        reason
        for page in PAGES
        for panel in page.panels
        if "The reason is the cause" in panel.act
        for reason in re.findall(r"`([a-z_]+)`", panel.act)
    }

    assert explained
    assert explained - reasons == set()


def test_can_be_listed_without_the_sdk() -> None:
    """Listing the queries does not import the library that draws panels."""
    code = "import sys; import dashboards.generator.inventory; print('grafana_foundation_sdk' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"

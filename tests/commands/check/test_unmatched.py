"""The warnings of `check` about names and patterns that select nothing, and about counters that have changed."""

from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.check.test_check import ACCOUNT
from tests.commands.conftest import Configure
from tests.commands.platform import Platform, running
from tests.commands.shell import Ended, invoke

SERIES = """\
series:
  allow: [edge_dns_queries, "edge_dns_.*_total", edge_database_orders_open, process_open_fds, edge_api_requests_total]
  deny: [edge_nosuch_at_all, edge_up, "edge_scirpt_.*"]
databases:
  - {name: orders, url: "{url}", auth_token: "{token}", queries: [{name: orders_open, sql: SELECT 1 AS value}]}
"""
OF_SERIES = [
    "9: series.deny[0]: no family's whole name matches it",
    "9: series.deny[2]: no family's whole name matches it",
    "8: series.allow[0]: no family's whole name matches it; did you mean 'edge_dns_queries_total'?",
]


def warnings(ended: Ended, path: Path) -> list[str]:
    """Return the warnings, without the file's name."""
    configured = [line for line in ended.out.splitlines() if line.startswith("warning: ")]
    return [line.removeprefix(f"warning: {path}:") for line in configured]


def without_suggestions(lines: list[str]) -> list[str]:
    """Remove the suggested family, which changes with every new metric."""
    return [line if "allow[0]" in line else line.partition(";")[0] for line in lines]


@pytest.mark.parametrize("offline", [["--offline"], []])
def test_families_that_do_not_exist_are_told(platform: Platform, configure: Configure, offline: list[str]) -> None:
    path = configure(ACCOUNT + SERIES, url=platform.url, key=keys.API_KEY, token=keys.DATABASE_TOKEN_READ_ONLY)
    ended = invoke("check", "--config", path, *offline)
    assert without_suggestions(warnings(ended, path)) == OF_SERIES
    assert (ended.err, ended.code, bool(platform.requests)) == ("", 0, not offline)
    assert offline or ended.out.endswith(" 0 faults, 3 warnings.\n")


def test_a_denied_family_that_does_not_exist_is_told_without_allowed_ones(configure: Configure) -> None:
    path = configure(ACCOUNT + "series: {deny: [edge_nosuch]}\n", url="http://127.0.0.1:1", key=keys.API_KEY)
    ended = invoke("check", "--config", path, "--offline")
    assert without_suggestions(warnings(ended, path)) == ["7: series.deny[0]: no family's whole name matches it"]


@pytest.mark.parametrize(
    ("selected", "configured"),
    [
        ("scripts: {monthly_budget_dollars: {typo: 3, router: 20, 8: 1}}", ["typo: no script of the account has "]),
        ("scripts: {monthly_budget_dollars: {101: 1}}", ["101: no script of the account has "]),
        ("scripts: {monthly_budget_dollars: {routre: 3}}",
         ["routre: no script of the account has this name or id; did you mean 'router'?"]),
        ("scripts: {discover: false, ids: [7], monthly_budget_dollars: {router: 1, ab-test: 3}}",
         ["ab-test: no script of `ids` has this name or id, and discovery is off"]),
        (("scripts: {discover: false, ids: [7], monthly_budget_dollars: {router: 1, typo: 3}}\n"
          "    shield_zones: {discover: false}\ncollectors: {discovery: {enabled: false}}"),
         ["typo: no script of `ids` has this name or id"]),
        ('dns_zones: {include: ["^nomatch", "^prod-"]}',
         ["include[0]: discovery found 12 DNS zones, and the domain of none matches"]),
        ('dns_zones: {discover: false, ids: [101], include: ["^nomatch"]}', []),
    ],
)  # fmt: skip
def test_a_selection_that_selects_nothing_is_a_warning_with_its_place(
    platform: Platform, configure: Configure, selected: str, configured: list[str]
) -> None:
    path = configure(f"{ACCOUNT}    {selected}\n", url=platform.url, key=keys.API_KEY)
    ended = invoke("check", "--config", path)
    found = warnings(ended, path)
    place = f"7: accounts[0].{selected.partition(':')[0]}."
    assert len(found) == len(configured)
    assert all(line.startswith(place) and said in line for line, said in zip(found, configured, strict=True))
    assert ended.out.endswith(f" 0 faults{', 1 warning' if configured else ''}.\n")
    assert ended.code == 0


@pytest.mark.parametrize("path", ["/search", "/compute/script/7"])
def test_what_cannot_be_known_is_no_warning(platform: Platform, configure: Configure, path: str) -> None:
    platform.fail(kind="status", path_regex=f"/search|{path}", status=500)
    scripts = "scripts: {ids: [7], discover: false," if path != "/search" else "scripts: {"
    text = f'{ACCOUNT}    {scripts} monthly_budget_dollars: {{typo: 1}}}}\n    dns_zones: {{include: ["^prod-"]}}\n'
    text += "    shield_zones: {discover: false}\n"
    config = configure(text, url=platform.url, key=keys.API_KEY)
    if path != "/search":
        config.write_text(config.read_text().replace("include:", "discover: false, include:"))
    ended = invoke("check", "--config", config)
    assert (warnings(ended, config), ended.code) == ([], 1)


def test_a_shard_does_not_take_another_shard_s_script_for_a_misspelt_one(configure: Configure) -> None:
    budgets = "scripts: {monthly_budget_dollars: {router: 1, image-resizer: 1, geo-redirect: 1, 10: 1, typo: 1}}"
    with running() as platform:
        for index in range(2):
            configured = f"{ACCOUNT}    {budgets}\nshard: {{index: {index}, total: 2}}\n"
            path = configure(configured, url=platform.url, key=keys.API_KEY)
            found = warnings(invoke("check", "--config", path), path)
            assert found == [
                "7: accounts[0].scripts.monthly_budget_dollars.typo: no script of the account has this name or id"
            ]

"""The configuration file: complete, and with empty values."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.database import Query
from exporter.foreign.patterns import Pattern
from exporter.settings.account import (
    AccessListSettings,
    BudgetSettings,
    ImageSettings,
    RateLimitSettings,
    ScriptsSettings,
    ShieldZonesSettings,
    WafCustomRuleSettings,
)
from exporter.settings.model import Settings
from exporter.validation.types import ListenAddress
from tests.settings.configurations import ACCOUNT, load_text, refusal, write

WHOLE = """\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key_file: keys/edge
    auth: bearer
    budget: {requests_per_second: 2.5, max_in_flight: 4}
    timeout: 20s
    proxy: http://proxy.example.net:3128
    ca_file: ca.pem
    dns_zones:    {discover: false, ids: [101, 102, 101], ids_file: ids.txt, include: ["^prod-"], exclude: [old]}
    scripts:      {discover: false, ids: [9], read: update, monthly_budget_dollars: {router: 20, "a b": 0.5}}
    shield_zones: {discover: false, ids: [3], rate_limits: false}
    rate_limits:  [{id: 7, name: login, shield_zone_id: 3}, {id: 8}]
    access_lists: [{shield_zone_id: 3, id: 11}]
    waf_custom_rules: [{id: 21}]
    images:       [{registry_id: 12, namespace: library, name: nginx, watch_tags: [stable, 1.10]}]
    searches:     [prod]
databases:
  - name: orders
    url: libsql://abc.lite.example.net
    auth_token_file: keys/orders
    timeout: 3s
    budget: {max_in_flight: 1}
    queries:
      - name: orders_open
        help: Orders not yet shipped
        sql: SELECT region, n FROM o
        value: n
        labels: [region]
        interval: 2m
        max_rows: 5
collectors:
  dns_statistics: {interval: 2m, stale_after: 10m}
  scripts: {enabled: no}
series: {max_per_family: 10, deny: ["edge_script_.*"], allow: ["edge_.*"], created: true}
web: {listen: ":9000", config_file: web.yml, route_prefix: /edge/}
state: {path: state.db, retention: 7d}
shard: {index: 1, total: 3}
log: {level: debug, format: json}
"""


def test_every_key_of_a_whole_file_arrives(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    write(tmp_path, "hunter2\n", "keys/edge")
    write(tmp_path, "hunter3\n", "keys/orders")
    write(tmp_path, "102\n103 # a comment\n\n# 104\n", "ids.txt")
    write(tmp_path, "PEM", "ca.pem")
    settings = load_text(tmp_path, WHOLE)
    account, database = settings.accounts[0], settings.databases[0]

    assert (account.name, account.base_url, account.auth) == ("main", "https://api.example.net", "bearer")
    assert account.credential().get_secret_value() == "hunter2"
    assert account.budget == BudgetSettings(requests_per_second=2.5, max_in_flight=4)
    assert (account.timeout, account.proxy) == (20.0, "http://proxy.example.net:3128")
    assert account.ca_file == tmp_path / "ca.pem"
    assert account.dns_zones.discover is False
    assert account.dns_zones.all_ids() == (101, 102, 103)
    assert account.dns_zones.include == (Pattern("^prod-"),)
    assert account.dns_zones.exclude == (Pattern("old"),)
    assert account.scripts == ScriptsSettings(
        discover=False, ids=(9,), read="update", monthly_budget_dollars={"router": 20.0, "a b": 0.5}
    )
    assert account.shield_zones == ShieldZonesSettings(discover=False, ids=(3,), rate_limits=False)
    assert account.rate_limits == (RateLimitSettings(id=7, name="login", shield_zone_id=3), RateLimitSettings(id=8))
    assert account.access_lists == (AccessListSettings(shield_zone_id=3, id=11),)
    assert account.waf_custom_rules == (WafCustomRuleSettings(id=21),)
    assert account.images == (
        ImageSettings(registry_id="12", namespace="library", name="nginx", watch_tags=("stable", "1.10")),
    )
    assert account.searches == ("prod",)

    assert (database.name, database.url, database.timeout) == ("orders", "https://abc.lite.example.net", 3.0)
    assert database.credential().get_secret_value() == "hunter3"
    assert database.budget == BudgetSettings(max_in_flight=1)
    assert database.queries == (
        Query(
            name="orders_open",
            help="Orders not yet shipped",
            sql="SELECT region, n FROM o",
            value="n",
            labels=("region",),
            interval=120.0,
            max_rows=5,
        ),
    )

    collectors = settings.collectors
    assert (collectors.dns_statistics.interval, collectors.dns_statistics.stale_after) == (120.0, 600.0)
    assert (collectors.scripts.enabled, collectors.scripts.interval) == (False, 900.0)
    assert settings.series.max_per_family == 10
    assert [settings.series.serves(name) for name in ("edge_up", "edge_script_deleted", "go_up")] == [
        True,
        False,
        False,
    ]
    assert settings.series.created is True
    assert settings.web.listen == ListenAddress("", 9000)
    assert (settings.web.config_file, settings.web.route_prefix) == (tmp_path / "web.yml", "/edge")
    assert (settings.state.path, settings.state.retention) == (Path("state.db"), 604_800.0)
    assert (settings.shard.resolve("host"), settings.shard.total) == (1, 3)
    assert (settings.log.level, settings.log.format) == ("debug", "json")


def test_what_is_not_set_has_its_default(tmp_path: Path) -> None:
    settings = load_text(tmp_path, ACCOUNT)
    account = settings.accounts[0]
    assert (account.auth, account.timeout, account.proxy, account.ca_file) == ("access_key", 10.0, None, None)
    assert account.budget == BudgetSettings(requests_per_second=10.0, max_in_flight=32)
    assert (account.dns_zones.discover, account.dns_zones.all_ids()) == (True, ())
    assert (account.scripts.discover, account.scripts.read) == (True, "get")
    assert (account.shield_zones.discover, account.shield_zones.rate_limits) == (True, True)
    assert (account.rate_limits, account.images, account.searches) == ((), (), ())
    assert settings.databases == ()
    assert settings.series.max_per_family == 1_000_000
    assert settings.series.created is False
    assert settings.series.serves("edge_up") is True
    assert str(settings.web.listen) == "127.0.0.1:9877"
    assert (settings.web.config_file, settings.web.route_prefix) == (None, "/")
    assert (settings.state.path, settings.state.retention) == (Path("edge-exporter-state.db"), 2_592_000.0)
    assert (settings.shard.index, settings.shard.total) == (0, 1)
    assert (settings.log.level, settings.log.format) == ("info", "auto")


def test_every_collector_has_its_own_interval(tmp_path: Path) -> None:
    collectors = load_text(tmp_path, ACCOUNT).collectors.by_name()
    assert {name: collector.interval for name, collector in collectors.items()} == {
        collector.section: collector.interval for collector in CATALOGUE
    }
    assert {(collector.enabled, collector.stale_after) for collector in collectors.values()} == {(True, None)}


def test_a_key_without_a_value_counts_as_not_written(tmp_path: Path) -> None:
    empty = "    budget:\n    rate_limits:\nweb:\nshard: ~\ncollectors:\n  scripts:\n  search: {interval: null}\n"
    assert load_text(tmp_path, ACCOUNT + empty) == load_text(tmp_path, ACCOUNT)


def test_null_is_a_value_where_it_means_something(tmp_path: Path) -> None:
    assert load_text(tmp_path, f"{ACCOUNT}state: {{path: null}}\n").state.path is None


def test_text_needs_no_quotes_whatever_it_looks_like(tmp_path: Path) -> None:
    text = """\
        accounts:
          - name: on
            base_url: https://x
            api_key: 0123
            images: [{registry_id: 7, namespace: 2024-01-01, name: 1e3}]
        """
    account = load_text(tmp_path, text).accounts[0]
    image = account.images[0]
    assert (account.name, account.credential().get_secret_value()) == ("on", "0123")
    assert (image.registry_id, image.namespace, image.name) == ("7", "2024-01-01", "1e3")


@pytest.mark.parametrize(("written", "value"), [("true", True), ("yes", True), ("on", True), ("off", False)])
def test_true_and_false_have_the_names_that_yaml_gives_them(tmp_path: Path, written: str, *, value: bool) -> None:
    assert load_text(tmp_path, f"{ACCOUNT}series: {{created: {written}}}\n").series.created is value


def test_anchors_and_merge_keys_save_repetition(tmp_path: Path) -> None:
    text = """\
        accounts:
          - &first
            name: one
            base_url: https://one.example.net
            api_key: hunter2
            timeout: 5s
          - {<<: *first, name: two, base_url: "https://two.example.net"}
        """
    accounts = load_text(tmp_path, text).accounts
    assert [(a.name, a.base_url, a.timeout) for a in accounts] == [
        ("one", "https://one.example.net", 5.0),
        ("two", "https://two.example.net", 5.0),
    ]


def test_a_fault_that_a_merge_key_brings_in_is_placed_where_it_is_written(tmp_path: Path) -> None:
    text = """\
        accounts:
          - &first
            name: one
            base_url: https://one.example.net
            api_key: hunter2
            timeout: soon
          - {<<: *first, name: two}
        """
    assert refusal(tmp_path, text) == [
        "config.yml:6: accounts[0].timeout: found 'soon', expected a duration such as 30s, 5m or 1h30m",
        "config.yml:6: accounts[1].timeout: found 'soon', expected a duration such as 30s, 5m or 1h30m",
    ]


def test_the_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load_text(tmp_path, ACCOUNT)
    with pytest.raises(ValidationError, match="frozen"):
        settings.log.level = "debug"


def test_settings_that_are_made_directly_take_nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG", '{"level": "debug"}')
    account = {"name": "main", "base_url": "https://x", "api_key": "hunter2"}
    assert Settings.model_validate({"accounts": [account]}).log.level == "info"

"""The targets that the settings name."""

from pathlib import Path

from exporter.wiring.selections import selections_of
from tests.exporter_parts import configuration


def test_each_resource_that_an_account_names_is_a_target_of_its_kind(tmp_path: Path) -> None:
    ids = tmp_path / "ids"
    ids.write_text("103\n101\n")
    account = {
        "dns_zones": {"ids": [101, 102], "ids_file": str(ids)},
        "scripts": {"ids": [7, 8]},
        "shield_zones": {"ids": [3, 4]},
        "rate_limits": [{"id": 41, "name": "login", "shield_zone_id": 3}, {"id": 42}],
        "access_lists": [{"id": one, "shield_zone_id": 3} for one in (11, 12)],
        "waf_custom_rules": [{"id": 21}, {"id": 22}],
        "images": [{"registry_id": "hub", "namespace": "library", "name": name} for name in ("nginx", "redis")],
        "searches": ["prod", "shop"],
    }
    settings = configuration("http://127.0.0.1:9", {}, **account)
    fixed = [one for selection in selections_of(settings) for one in selection.fixed]
    assert [" ".join(filter(None, (one.key.label, one.name, *one.attributes.values()))) for one in fixed] == [
        *("account/main main", "dns_zone/101", "dns_zone/102", "dns_zone/103", "script/7 get", "script/8 get"),
        *("shield_zone/3", "shield_zone/4", "rate_limit/41 login 3", "rate_limit/42"),
        *("access_list/11 3", "access_list/12 3", "waf_custom_rule/21", "waf_custom_rule/22"),
        *(f"image/hub/library/{name} hub/library/{name} hub library {name}" for name in ("nginx", "redis")),
        *("search/prod prod", "search/shop shop"),
    ]
    off = {"discover": False}
    of_file = {"dns_zones": {**off, "ids_file": str(ids)}, "scripts": {**off, "read": "update"}, "shield_zones": off}
    own, _, scripts, *_ = selections_of(configuration("http://127.0.0.1:9", {}, **of_file))
    assert (own.fixed[0].watched, scripts.attributes) == (("names",), {"read": "update"})

"""The settings of accounts and databases: the address, the credential, the budget, and what is polled."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from exporter.collectors.database import SqlQuery
from exporter.settings.targets import Labels, TargetLabelsSettings
from exporter.targets.target import DATABASE_PREFIX
from exporter.untrusted.regular_file import read_text
from exporter.validation.secrets import Secret, SecretFile, one_of
from exporter.validation.section import Conflict, Section, duplicates
from exporter.validation.types import (
    LARGEST_ID,
    BaseUrl,
    Identifier,
    PatternField,
    Text,
    Timeout,
    parse_path,
    parse_url,
)

_EXAMPLE_URL = "libsql://abc.lite.example.net"
# At most as many digits as the largest id has: Python refuses to convert a text of several thousand digits.
_DIGITS = re.compile(r"[0-9]{1,19}")


def _read_ids(value: object) -> tuple[int, ...]:
    path = parse_path(value)
    ids: list[int] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        text = line.partition("#")[0].strip()
        if _DIGITS.fullmatch(text) and 1 <= int(text) <= LARGEST_ID:
            ids.append(int(text))
        elif text:
            raise ValueError(f"{path}:{number}: found {text[:60]!r}, expected an id from 1 to {LARGEST_ID}")
    return tuple(dict.fromkeys(ids))


class BudgetSettings(Section):
    """The limits on the calls to an account or a database."""

    requests_per_second: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = Field(
        default=10.0, description="The most calls a second, retries included; shards divide an account's limit."
    )
    max_in_flight: int = Field(
        default=32, ge=1, le=4096, description="The most calls at once; shards divide an account's limit, rounded up."
    )


class DiscoveredSettings(Section):
    """Which resources of a kind are polled."""

    discover: bool = Field(default=True, description="Whether the account's resources of this kind are discovered.")
    ids: tuple[Identifier, ...] = Field(default=(), description="Ids that are polled even if they are not discovered.")
    include: tuple[PatternField, ...] = Field(
        default=(),
        description="Patterns for any part of a name; if there are any, only resources that match one are discovered.",
    )
    exclude: tuple[PatternField, ...] = Field(
        default=(),
        description="Patterns for any part of a name: resources that match one are not discovered.",
    )


class DnsZonesSettings(DiscoveredSettings):
    """Which DNS zones are polled; the name of a zone is its domain."""

    ids_file: Annotated[tuple[int, ...], PlainValidator(_read_ids)] | None = Field(
        default=None, description="A file with further ids, one a line; '#' starts a comment."
    )

    def all_ids(self) -> tuple[int, ...]:
        """Return the ids of `ids` and `ids_file`, without duplicates."""
        return tuple(dict.fromkeys((*self.ids, *(self.ids_file or ()))))


class ScriptsSettings(DiscoveredSettings):
    """Which edge scripts are polled, and how."""

    read: Literal["get", "update"] = Field(
        default="get",
        description="How scripts are read: get (a GET), or update (the documented POST, with no field to change).",
    )
    monthly_budget_dollars: Mapping[Text, Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="Monthly budgets, by name or id of a script; a name's budget applies to each script with the name.",
    )


class ShieldZonesSettings(DiscoveredSettings):
    """Which shield zones are polled; the name of a shield zone is that of its pull zone."""

    rate_limits: bool = Field(
        default=True, description="Whether rate limits are discovered too, if the platform lists them."
    )


class RateLimitSettings(Section):
    """One rate limit that is polled."""

    id: Identifier = Field(description="The rate limit's id.")
    name: str = Field(default="", description="The rate limit's name, which is a label of its metrics.")
    shield_zone_id: Identifier | None = Field(default=None, description="The shield zone's id.")


class AccessListSettings(Section):
    """One custom access list that is polled."""

    shield_zone_id: Identifier = Field(description="The shield zone's id.")
    id: Identifier = Field(description="The access list's id.")


class WafCustomRuleSettings(Section):
    """One custom WAF rule that is polled."""

    id: Identifier = Field(description="The rule's id.")


class ImageSettings(Section):
    """One container image whose tags are listed."""

    registry_id: Text = Field(description="The registry: dockerhub, github or the number of a registry.")
    namespace: Text = Field(description="The image's namespace.")
    name: Text = Field(description="The image's name.")
    watch_tags: tuple[Text, ...] = Field(default=(), description="Tags whose presence is a metric.")


def _parse_auth(value: object) -> object:
    """Refuse an unknown scheme; the message does not show the text, which could be a key, put here by mistake."""
    if value not in ("access_key", "bearer"):
        raise ValueError("is neither 'access_key' nor 'bearer'")
    return value


class AccountSettings(Section):
    """An account on the platform: address, key, request budget, and the resources that are polled."""

    name: Text = Field(default="main", description="The account's name, which is a label of its metrics.")
    base_url: BaseUrl = Field(description="The platform's address, such as https://api.example.net.")
    api_key: Secret = Field(default=None, description="The account's key.")
    api_key_file: SecretFile = Field(default=None, description="The file that contains the account's key.")
    auth: Annotated[Literal["access_key", "bearer"], BeforeValidator(_parse_auth)] = Field(
        default="access_key", description="How the key is sent: in the AccessKey header, or as a bearer token."
    )
    budget: BudgetSettings = BudgetSettings()
    timeout: Timeout = Field(default=10.0, description="The time limit of one attempt at a call, connecting included.")
    labels: Labels = Field(
        default_factory=dict, description="Labels of every target of the account, in edge_target_labels."
    )
    target_labels: tuple[TargetLabelsSettings, ...] = Field(
        default=(), description="Labels of targets by name; these labels have priority over `labels`."
    )
    dns_zones: DnsZonesSettings = DnsZonesSettings()
    scripts: ScriptsSettings = ScriptsSettings()
    shield_zones: ShieldZonesSettings = ShieldZonesSettings()
    rate_limits: tuple[RateLimitSettings, ...] = ()
    access_lists: tuple[AccessListSettings, ...] = ()
    waf_custom_rules: tuple[WafCustomRuleSettings, ...] = ()
    images: tuple[ImageSettings, ...] = ()
    searches: tuple[Text, ...] = Field(
        default=(), description="Search texts; the number of results of each is a metric."
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Check the credential and the name, and that no rate limit, access list, rule or image is given twice."""
        yield from one_of(self, "api_key", "api_key_file")
        if self.name.startswith(DATABASE_PREFIX):
            yield ("name",), f"starts with '{DATABASE_PREFIX}', which marks the names of databases"
        images = [f"{image.registry_id}/{image.namespace}/{image.name}" for image in self.images]
        yield from duplicates((("images", place), image) for place, image in enumerate(images))
        for key in ("rate_limits", "access_lists", "waf_custom_rules"):
            yield from duplicates(((key, place, "id"), one.id) for place, one in enumerate(getattr(self, key)))


def parse_database_url(value: str) -> str:
    """Return a database's address as a URL of HTTP; `libsql` becomes `https`; raises ValueError for a wrong address."""
    address = parse_url(value, ("libsql", "https", "http"), _EXAMPLE_URL)
    scheme, _, rest = address.partition("://")
    return f"https://{rest}" if scheme.lower() == "libsql" else address


class DatabaseSettings(Section):
    """A database of the platform, and the queries whose results are metrics."""

    name: Text = Field(default="default", description="The database's name, which is a label of its metrics.")
    url: Annotated[str, AfterValidator(parse_database_url)] = Field(
        description=f"The database's address, such as {_EXAMPLE_URL}."
    )
    auth_token: Secret = Field(default=None, description="The access token; a read-only one suffices.")
    auth_token_file: SecretFile = Field(default=None, description="The file that contains the access token.")
    budget: BudgetSettings = BudgetSettings()
    timeout: Timeout = Field(default=10.0, description="The time limit of one attempt at a call, connecting included.")
    queries: tuple[SqlQuery, ...] = ()

    def conflicts(self) -> Iterator[Conflict]:
        """Require exactly one credential."""
        return one_of(self, "auth_token", "auth_token_file")

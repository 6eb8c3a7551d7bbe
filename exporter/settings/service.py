"""The settings of the exporter itself: collectors, series, web server, state, shard and log."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, create_model
from pydantic_core import SchemaValidator, core_schema

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.mask import has_ambiguous_password
from exporter.targets.sharding import Shard
from exporter.validation.configuration_errors import KeyPath
from exporter.validation.secrets import Secret, SecretError, SecretFile, one_of, read_secret
from exporter.validation.section import Conflict, Section
from exporter.validation.types import (
    FilePath,
    Interval,
    LeaseLength,
    Listen,
    ListenAddress,
    OptionalInterval,
    PatternField,
    Retention,
    RoutePrefix,
    Text,
)

_POSTGRESQL = SchemaValidator(core_schema.multi_host_url_schema(allowed_schemes=["postgresql", "postgres"]))
# Percent signs that encode no character, or encode NUL; an address may contain neither.
_NO_CHARACTER = re.compile(r"%(?:00|(?![0-9A-Fa-f]{2}))")
_NO_POSTGRESQL = (
    "is not the address of a PostgreSQL database; expected one such as postgresql://user:password@host/database, with "
    "the password percent-encoded (% as %25, @ as %40, / as %2F, ? as %3F, # as %23)"
)


class CollectorSettings(Section):
    """Whether and how often a collector polls its targets."""

    enabled: bool = Field(default=True, description="Whether the collector runs.")
    # The default of the collector or of the endpoint replaces this default.
    interval: Interval = Field(default=600.0, description="The interval between two polls of a target.")
    stale_after: OptionalInterval = Field(
        default=None,
        description="How long a poll's values are served without a later success; null: three effective intervals.",
    )


def _with_default_interval(settings: CollectorSettings, default: float) -> CollectorSettings:
    return settings if "interval" in settings.model_fields_set else settings.model_copy(update={"interval": default})


# Collector of the catalogue with a section of its own → default interval in seconds.
SECTIONS: Mapping[str, float] = {
    collector.name: float(collector.interval) for collector in CATALOGUE if collector.section == collector.name
}
_FIELD_DEFINITIONS: Mapping[str, Any] = {
    name: (
        Annotated[CollectorSettings, AfterValidator(partial(_with_default_interval, default=default))],
        CollectorSettings(interval=default),
    )
    for name, default in SECTIONS.items()
}


class CollectorsSettings(create_model("_Sections", __base__=Section, **_FIELD_DEFINITIONS)):  # type: ignore[misc] # made from the catalogue
    """The settings of collectors and of configured endpoints, by name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CollectorSettings | None]

    def of_endpoint(self, endpoint: Endpoint) -> CollectorSettings:
        """Return the settings of an endpoint's collector, with the endpoint's interval if the settings have none."""
        given = (self.__pydantic_extra__ or {}).get(endpoint.name) or CollectorSettings()
        return _with_default_interval(given, endpoint.interval)


class SeriesSettings(Section):
    """Which series are served."""

    max_label_values: int = Field(
        default=1000, ge=1, le=1_000_000, description="The most label values that a metric of one target may have."
    )
    deny: tuple[PatternField, ...] = Field(
        default=(), description="Patterns of whole names: families that match one are not served."
    )
    allow: tuple[PatternField, ...] = Field(
        default=(), description="Patterns of whole names; if there are any, only families that match one are served."
    )

    def serves(self, family: str) -> bool:
        """Return whether a family of this name is served."""
        return self.rejection(family) is None

    def rejection(self, family: str) -> KeyPath | None:
        """Return the path, below `series`, of the setting that leaves a family out; None if the family is served."""
        if self.allow and not any(pattern.fullmatch(family) for pattern in self.allow):
            return ("allow",)
        return next((("deny", place) for place, pattern in enumerate(self.deny) if pattern.fullmatch(family)), None)


class WebSettings(Section):
    """The exporter's web server."""

    listen: Listen = Field(default=ListenAddress("127.0.0.1", 9877), description="The address to listen on.")
    config_file: FilePath = Field(
        default=None,
        description="A web configuration file, as for other Prometheus exporters: TLS, headers, basic auth.",
    )
    route_prefix: RoutePrefix = Field(default="/", description="The prefix of the exporter's paths.")


def _address_problem(address: str) -> str:
    if not _POSTGRESQL.isinstance_python(address) or has_ambiguous_password(address) or _NO_CHARACTER.search(address):
        return _NO_POSTGRESQL
    if find_spec("psycopg") is None:
        return "needs an extra that is not installed: pip install 'edge-exporter[postgres]'"
    return ""


class StateSettings(Section):
    """Where counters are stored, and for how long."""

    path: FilePath = Field(
        default=Path("edge-exporter-state.db"),
        description="The state file; null: counters start at 0 with each process.",
    )
    url: Secret = Field(
        default=None, description="A PostgreSQL database's address, with its password; used instead of the file."
    )
    url_file: SecretFile = Field(default=None, description="The file that contains the PostgreSQL database's address.")
    installation: Text = Field(
        default="default",
        description="The name of the group of exporters that share their counters in the database.",
    )
    lease: LeaseLength = Field(
        default=15.0,
        description="Approximately how long the database keeps the shard of a lost exporter.",
    )
    retention: Retention = Field(
        default=2_592_000.0,
        description="How long counters of removed targets, and of label values that no answer contains, are kept.",
    )

    @property
    def is_shared(self) -> bool:
        """Whether the state is in a database."""
        return self.url is not None or self.url_file is not None

    @property
    def address_key(self) -> str:
        """The key that sets the address of the database: `url_file` if that is set, else `url`."""
        return "url" if self.url_file is None else "url_file"

    def address(self) -> str:
        """Return the current address of the database, with its password; raises SecretError for an unusable address."""
        secret = self.url if self.url_file is None else read_secret(self.url_file)
        address = "" if secret is None else secret.get_secret_value()
        if problem := _address_problem(address):
            raise SecretError(problem if self.url_file is None else f"{self.url_file} {problem}")
        return address

    def conflicts(self) -> Iterator[Conflict]:
        """Check that at most one key sets the address of the database, and that the address can be used."""
        yield from one_of(self, "url", "url_file", needed=False)
        try:
            if self.is_shared:
                self.address()
        except SecretError as error:
            yield (self.address_key,), str(error)


def _parse_index(value: object) -> int | Literal["auto"]:
    text = str(value).strip()
    if text == "auto":
        return "auto"
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError("expected auto, or a whole number from 0 to shard.total - 1")
    return int(text)


class ShardSettings(Section):
    """Which part of the targets this process polls."""

    index: Annotated[int | Literal["auto"], PlainValidator(_parse_index), "INTEGER|auto"] = Field(
        default=0,
        description="The number of the shard, from 0; auto: the number at the end of the host name or, with the state "
        "in a database, a free shard.",
    )
    total: int = Field(default=1, ge=1, le=1024, description="How many shards there are.")

    def shard(self, host_name: str) -> Shard:
        """Return the shard of the index or, for `auto`, of the number at the end of the host name's first part.

        Raises ValueError if the host name has no such number, or if the index is too high.
        """
        index, subject = self.index, f"found {self.index}"
        if index == "auto":
            name = host_name.partition(".")[0]
            found = re.search(r"[0-9]+\Z", name)
            if found is None:
                raise ValueError(f"host name '{name}' does not end in a number; expected one such as 'exporter-0'")
            index = int(found.group())
            subject = f"host name '{name}' ends in {index}"
        if index >= self.total:
            raise ValueError(f"{subject}, expected a number below shard.total, which is {self.total}")
        return Shard(index, self.total)


class LogSettings(Section):
    """What is logged, and in which format."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="The lowest logged level.")
    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="auto: console on a terminal, JSON elsewhere."
    )

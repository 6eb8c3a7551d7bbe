"""The settings of the exporter itself: collectors, series, web server, state, shard and log."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PlainValidator, create_model, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.targets.sharding import Shard
from exporter.validation.faults import KeyPath
from exporter.validation.secrets import Secret, SecretFile, SecretFileError, parse_secret, read_secret
from exporter.validation.section import Section, at, expected, refused
from exporter.validation.types import (
    FilePath,
    Interval,
    LeaseLength,
    Listen,
    ListenAddress,
    Metavar,
    OptionalInterval,
    PatternField,
    Retention,
    RoutePrefix,
    Text,
    parse_path,
    stale_too_early,
    url_problem,
)

_MOST_SHARDS = 1024
_HOST = r"(?:\[[^]/?\s]*\]|[^][:,/?\s]*)(?::[0-9]*)?"
_DATABASE_ADDRESS = re.compile(rf"postgres(?:ql)?://(?=\S)(?:[^@/\s]*@)?{_HOST}(?:,{_HOST})*(?:[/?]\S*)?")
_ORDINAL = re.compile(r"[0-9]{1,6}\Z")


class ShardOrdinalError(Exception):
    """`shard.index` is `auto`, and the host name does not end in an ordinal below the total."""


class EndpointCollectorSettings(Section):
    """Whether and how often a configured endpoint polls each of its targets."""

    enabled: bool = Field(default=True, description="Whether the collector runs.")
    interval: OptionalInterval = Field(default=None, description="The interval; null for the endpoint's own.")
    stale_after: OptionalInterval = Field(
        default=None,
        description="How long the last values of a failing target are served; null for three effective intervals.",
    )


class CollectorSettings(EndpointCollectorSettings):
    """Whether and how often a collector polls each of its targets."""

    interval: Interval = Field(description="The interval between two polls of a target.")

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require that a target is polled again before it is stale."""
        return stale_too_early((), raw.get("interval"), raw.get("stale_after"))


# The interval of each collector of the catalogue that has its own section.
SECTIONS: Mapping[str, float] = {
    collector.name: float(collector.interval) for collector in CATALOGUE if collector.section == collector.name
}
_FIELDS: Mapping[str, Any] = {
    name: (CollectorSettings, Field(default_factory=partial(CollectorSettings.model_construct, interval=interval)))
    for name, interval in SECTIONS.items()
}


class CollectorsSettings(create_model("_Sections", __base__=Section, **_FIELDS)):  # type: ignore[misc] # made from the catalogue
    """The settings of collectors by their names, and of configured endpoints by theirs."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, EndpointCollectorSettings]

    def by_name(self, endpoints: Iterable[Endpoint] = ()) -> dict[str, CollectorSettings]:
        """Return the settings of all collectors and endpoints, by the collector's `section`."""
        found = {name: getattr(self, name) for name in SECTIONS}
        for endpoint in endpoints:
            given = (self.__pydantic_extra__ or {}).get(endpoint.name, EndpointCollectorSettings())
            found[endpoint.name] = CollectorSettings(
                enabled=given.enabled, interval=given.interval or endpoint.interval, stale_after=given.stale_after
            )
        return found

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_intervals(cls, data: object) -> object:
        """Give each collector whose interval is not set the default of that collector."""
        if not isinstance(data, Mapping):
            return data
        return {
            name: {**given, "interval": SECTIONS[name]}
            if isinstance(given, Mapping) and name in SECTIONS and given.get("interval") is None
            else given
            for name, given in data.items()
            if given is not None
        }


class SeriesSettings(Section):
    """Which series are served."""

    max_label_values: int = Field(
        default=1000, ge=1, le=1_000_000, description="The most label values of a metric for each target."
    )
    deny: tuple[PatternField, ...] = Field(
        default=(), description="Families that are not served; patterns of whole names."
    )
    allow: tuple[PatternField, ...] = Field(default=(), description="The only families that are served; all if empty.")

    def serves(self, family: str) -> bool:
        """Return whether a family of this name is served."""
        return self.refusing(family) is None

    def refusing(self, family: str) -> KeyPath | None:
        """Return the path below `series` of what leaves a family out; None if it is served."""
        if self.allow and not any(pattern.fullmatch(family) for pattern in self.allow):
            return ("allow",)
        return next((("deny", place) for place, pattern in enumerate(self.deny) if pattern.fullmatch(family)), None)


class WebSettings(Section):
    """The exporter's own web server."""

    listen: Listen = Field(default=ListenAddress("127.0.0.1", 9877), description="The address to listen on.")
    config_file: FilePath = Field(
        default=None, description="A web configuration file, as for other Prometheus exporters: TLS and basic auth."
    )
    route_prefix: RoutePrefix = Field(default="/", description="The prefix of every path.")


class StateSettings(Section):
    """Where counters are stored: in a file, or in a database that several exporters share."""

    path: FilePath = Field(
        default=Path("edge-exporter-state.db"),
        description="The state file; null: counters start at 0 with each process.",
    )
    url: Secret = Field(
        default=None, description="A PostgreSQL database's address, with its password; used instead of the file."
    )
    url_file: SecretFile = Field(default=None, description="The file that holds the database's address.")
    installation: Text = Field(
        default="default", description="The name of the exporters that share their counters in the database."
    )
    lease: LeaseLength = Field(
        default=15.0, description="After how long the database frees the shard of an exporter that does not answer."
    )
    retention: Retention = Field(default=2_592_000.0, description="How long a removed target's counters are kept.")

    @property
    def is_shared(self) -> bool:
        """Whether the state is in a database."""
        return self.url is not None or self.url_file is not None

    @property
    def is_durable(self) -> bool:
        """Whether counters survive the process."""
        return self.is_shared or self.path is not None

    def address(self) -> str:
        """Return the current address of the database, with its password; raises SecretFileError for its file."""
        if self.url_file is None:
            return self.url.get_secret_value() if self.url is not None else ""
        address = read_secret(self.url_file).get_secret_value()
        if problem := _address_problem(address, is_file=True):
            raise SecretFileError(self.url_file, problem)
        return address

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require at most one address, that of a PostgreSQL database."""
        given = [key for key in ("url", "url_file") if raw.get(key) is not None]
        if len(given) > 1:
            yield at(("url_file",), refused("set together with url; expected one of the two"))
        elif given and (problem := _database_problem(raw[given[0]], is_file=given[0] == "url_file")):
            yield at((given[0],), refused(problem))


def _database_problem(value: object, *, is_file: bool) -> str:
    """Return why the address of a state database cannot be used, without showing it; empty if it can."""
    try:
        secret = read_secret(parse_path(value)) if is_file else parse_secret(value)
    except (SecretFileError, PydanticCustomError):
        # The value's own type reports other faults.
        return ""
    if problem := _address_problem(secret.get_secret_value() if secret is not None else "", is_file=is_file):
        return f"{value} {problem}" if is_file else problem
    if find_spec("psycopg") is None:
        return "needs an extra that is not installed: pip install 'edge-exporter[postgres]'"
    return ""


def _address_problem(address: str, *, is_file: bool) -> str:
    if problem := url_problem(address):
        return problem
    if _DATABASE_ADDRESS.fullmatch(address) is None:
        what = "does not contain" if is_file else "is not"
        return f"{what} the address of a PostgreSQL; expected one such as postgresql://user:password@host/database"
    return ""


def _parse_index(value: object) -> int | Literal["auto"]:
    if value == "auto":
        return "auto"
    if value == "lease":
        raise refused("lease was removed; auto takes the first shard of the state database that is free")
    number = _whole(value)
    if number is None:
        raise expected("a whole number from 0 or auto")
    return number


class ShardSettings(Section):
    """Which part of the targets this process polls."""

    index: Annotated[int | Literal["auto"], PlainValidator(_parse_index), Metavar("INTEGER|auto")] = Field(
        default=0,
        description="This shard's number, from 0; auto: the ordinal at the end of the host name, and with state.url "
        "the first that is free.",
    )
    total: int = Field(default=1, ge=1, le=_MOST_SHARDS, description="How many shards there are.")

    def shard(self, host_name: str) -> Shard:
        """Return the shard of this process, where the state is not in a database.

        Raises ShardOrdinalError if the number is to come from the host name, and cannot.
        """
        if self.index != "auto":
            return Shard(self.index, self.total)
        found = _ORDINAL.search(host_name.partition(".")[0])
        if found is None:
            raise ShardOrdinalError(f"host name '{host_name}' does not end in a number, as 'exporter-0' does")
        ordinal = int(found.group())
        if ordinal >= self.total:
            raise ShardOrdinalError(
                f"host name '{host_name}' ends in {ordinal}, but shard.total is {self.total} "
                f"(0 to {self.total - 1} are allowed)"
            )
        return Shard(ordinal, self.total)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require an index below the total."""
        index, total = (_whole(raw.get(key, default)) for key, default in (("index", 0), ("total", 1)))
        if index is not None and total is not None and index >= total >= 1:
            yield at(("index",), refused(f"found {index}, but shard.total is {total} (0 to {total - 1} are allowed)"))


def _whole(value: object) -> int | None:
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


class LogSettings(Section):
    """The log."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="The lowest logged level.")
    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="auto: console on a terminal, JSON elsewhere."
    )

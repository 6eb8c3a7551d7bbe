"""The settings of an account: its address, its credential, its budget and what is polled for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator, SecretStr, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from exporter.regular_file import read_regular, unreadable
from exporter.settings.flag import API_KEY_FILE, AUTH, BASE_URL
from exporter.validation.secrets import Secret, SecretFile, read_secret
from exporter.validation.section import Section, at, duplicates, elsewhere, items, named, peek, refused
from exporter.validation.types import (
    LARGEST_ID,
    BaseUrl,
    Identifier,
    PatternField,
    ProxyUrl,
    ReadableFile,
    Text,
    Timeout,
    parse_path,
)

_MOST_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class IdsFile:
    """The content of a file with one id in each line, from the time when the settings were loaded."""

    path: Path
    ids: tuple[int, ...] = field(repr=False)


def parse_ids_file(value: object) -> IdsFile | None:
    """Read a file with one id in each line; blank lines and the rest of a line after `#` are ignored."""
    if value is None or isinstance(value, IdsFile):
        return value
    path = parse_path(value)
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise refused(f"{path} {unreadable(error)}") from None
    except UnicodeDecodeError:
        raise refused(f"{path} is not UTF-8 text") from None
    ids: dict[int, None] = {}
    wrong: list[PydanticCustomError] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= LARGEST_ID:
            ids[int(text)] = None
        elif text:
            wrong.append(elsewhere(str(path), number, f"found {text[:60]!r}, expected a whole number from 1"))
    if len(wrong) > _MOST_FAULTS_SHOWN:
        rest = len(wrong) - _MOST_FAULTS_SHOWN
        wrong[_MOST_FAULTS_SHOWN:] = [refused(f"{path} holds {rest} more lines that are not ids")]
    if wrong:
        raise ValidationError.from_exception_data("ids_file", [at((), error) for error in wrong])
    return IdsFile(path, tuple(ids))


class BudgetSettings(Section):
    """The limits on the calls to an account."""

    requests_per_second: Annotated[
        float, Field(gt=0, le=100_000, allow_inf_nan=False, description="Calls started in a second.")
    ] = 10.0
    max_in_flight: Annotated[int, Field(ge=1, le=4096, description="Calls in flight at once.")] = 32


class DnsZonesSettings(Section):
    """Which DNS zones are polled."""

    discover: Annotated[bool, Field(description="Find zones by the platform's search.")] = True
    ids: Annotated[tuple[Identifier, ...], Field(description="Zones that are polled, discovered or not.")] = ()
    ids_file: Annotated[
        IdsFile | None,
        PlainValidator(parse_ids_file),
        PlainSerializer(lambda file: None if file is None else str(file.path)),
        Field(description="A file of ids, one in each line; '#' starts a comment."),
    ] = None
    include: Annotated[
        tuple[PatternField, ...],
        Field(description="Discover only zones whose domain contains a match of one of these patterns."),
    ] = ()
    exclude: Annotated[
        tuple[PatternField, ...],
        Field(description="Discover no zones whose domain contains a match of one of these."),
    ] = ()

    def all_ids(self) -> tuple[int, ...]:
        """Return the configured ids, of the list and of the file, each once."""
        return tuple(dict.fromkeys((*self.ids, *(self.ids_file.ids if self.ids_file else ()))))


class ScriptsSettings(Section):
    """Which edge scripts are polled, and how."""

    discover: Annotated[bool, Field(description="Find scripts by the platform's search.")] = True
    ids: Annotated[tuple[Identifier, ...], Field(description="Scripts that are polled, discovered or not.")] = ()
    read: Annotated[
        Literal["get", "update"],
        Field(description="Read by GET, or by the documented update POST with an empty body."),
    ] = "get"
    monthly_budget_dollars: Annotated[
        Mapping[Text, Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]],
        Field(description="A script's name or id, and its budget for a month. A renamed script keeps its budget."),
    ] = Field(default_factory=dict)


class ShieldZonesSettings(Section):
    """Which shield zones are polled."""

    discover: Annotated[bool, Field(description="Find shield zones by the platform's list.")] = True
    ids: Annotated[tuple[Identifier, ...], Field(description="Shield zones polled, discovered or not.")] = ()
    rate_limits: Annotated[
        bool, Field(description="Find each zone's rate limits, where the platform has the listing.")
    ] = True


class RateLimitSettings(Section):
    """One rate limit that is polled."""

    id: Annotated[Identifier, Field(description="The rate limit's id.")]
    name: Annotated[str, Field(description="The name that labels its metrics.")] = ""
    shield_zone_id: Annotated[Identifier | None, Field(description="The shield zone that it belongs to.")] = None


class AccessListSettings(Section):
    """One custom access list that is polled."""

    shield_zone_id: Annotated[Identifier, Field(description="The id of the shield zone that it belongs to.")]
    id: Annotated[Identifier, Field(description="The access list's id.")]


class WafCustomRuleSettings(Section):
    """One custom WAF rule that is polled."""

    id: Annotated[Identifier, Field(description="The rule's id.")]


class ImageSettings(Section):
    """One container image whose tags are listed."""

    registry_id: Annotated[Text, Field(description="The registry: dockerhub, github or its number.")]
    namespace: Annotated[Text, Field(description="The image's namespace.")]
    name: Annotated[Text, Field(description="The image's name.")]
    watch_tags: Annotated[tuple[Text, ...], Field(description="Tags whose presence is exposed, one series each.")] = ()


class AccountSettings(Section):
    """One account on the platform."""

    name: Annotated[Text, Field(description="The account's name, which is a label of its metrics.")]
    base_url: Annotated[BaseUrl, Field(description=BASE_URL.help)]
    api_key: Annotated[Secret, Field(description="The account's key.")] = None
    api_key_file: Annotated[SecretFile, Field(description=API_KEY_FILE.help)] = None
    auth: Annotated[
        Literal["access_key", "bearer"],
        Field(
            description=AUTH.help,
            json_schema_extra={"secret": True},  # a key that was put here by mistake must not be shown
        ),
    ] = "access_key"
    budget: BudgetSettings = Field(default_factory=BudgetSettings.model_construct)
    timeout: Annotated[Timeout, Field(description="The deadline of a whole attempt.")] = 10.0
    proxy: Annotated[ProxyUrl, Field(description="The HTTP proxy for the calls.", repr=False)] = None
    ca_file: Annotated[ReadableFile, Field(description="Trusted certificates of authorities, PEM.")] = None
    dns_zones: DnsZonesSettings = Field(default_factory=DnsZonesSettings.model_construct)
    scripts: ScriptsSettings = Field(default_factory=ScriptsSettings.model_construct)
    shield_zones: ShieldZonesSettings = Field(default_factory=ShieldZonesSettings.model_construct)
    rate_limits: tuple[RateLimitSettings, ...] = ()
    access_lists: tuple[AccessListSettings, ...] = ()
    waf_custom_rules: tuple[WafCustomRuleSettings, ...] = ()
    images: tuple[ImageSettings, ...] = ()
    searches: Annotated[tuple[Text, ...], Field(description="Searches whose number of results is a metric.")] = ()

    def credential(self) -> SecretStr:
        """Return the current key.

        Raises:
            SecretFileError: The file of the key cannot be used.
        """
        return stored_secret(self.api_key, self.api_key_file)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require one credential, and refuse repeated names."""
        yield from one_of(raw, "api_key", "api_key_file")
        for key in ("rate_limits", "access_lists", "waf_custom_rules"):
            yield from duplicates(named(raw, key, "id"), "id")
        images = enumerate(items(raw.get("images")))
        yield from duplicates(
            (("images", place), "/".join(str(peek(image, part)) for part in ("registry_id", "namespace", "name")))
            for place, image in images
        )


def stored_secret(secret: SecretStr | None, file: Path | None) -> SecretStr:
    """Return the secret, or the content of its file; validation made sure that one of them is set."""
    if file is not None:
        return read_secret(file)
    return secret if secret is not None else SecretStr("")


def one_of(raw: Mapping[str, object], key: str, file_key: str) -> Iterator[InitErrorDetails]:
    """Require exactly one of a secret and its file."""
    given = [name for name in (key, file_key) if raw.get(name) is not None]
    if not given:
        yield at((key,), refused(f"missing; expected {key} or {file_key}"))
    elif len(given) > 1:
        yield at((file_key,), refused(f"set together with {key}; expected one of the two"))

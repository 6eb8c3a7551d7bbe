"""Reads the web configuration file that all Prometheus exporters share: TLS, response headers and basic auth."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_core import InitErrorDetails

from exporter.validation.faults import ConfigurationError, Fault, written
from exporter.validation.messages import faults_of
from exporter.validation.section import Section, at, expected, refused
from exporter.validation.yaml_file import file_names_resolved, read_marked
from exporter.web.auth.tls import TlsFileError, server_context
from exporter.web.auth.tls_settings import TlsSettings

# The last letter of a salt has only two significant bits.
_BCRYPT = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
_COSTS = range(4, 19)  # a check at cost 18 takes about 20 seconds; each further step doubles the time
_HEADER_VALUES: Mapping[str, tuple[str, ...]] = {
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
    "Content-Security-Policy": (),
}


def _parse_hash(value: object) -> SecretStr:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    match = _BCRYPT.fullmatch(text) if isinstance(text, str) else None
    if not isinstance(text, str) or match is None:
        raise refused("is not a bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it")
    if int(match["cost"]) not in _COSTS:
        raise refused(
            f"has the bcrypt cost {match['cost']}, expected one from {_COSTS[0]} to {_COSTS[-1]}: "
            "a check takes 20 seconds at 18, and each further one doubles that"
        )
    return SecretStr(text)


def _parse_user(value: object) -> str:
    if not isinstance(value, str) or not value or ":" in value:
        raise refused("is not a user name; expected text without a ':'")
    return value


_GO_UNITS: Mapping[str, float] = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GO_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us|µs|ns))+", re.ASCII)
_GO_PART = re.compile(r"([0-9.]+)([a-zµ]+)")


def _parse_interval(value: object) -> float:
    """Read a duration in Go's form as seconds: `1s`, `250ms`, `1m30s`; a bare number is nanoseconds."""
    if isinstance(value, str) and value.isdecimal():
        return float(value) * 1e-9
    if not isinstance(value, str) or _GO_DURATION.fullmatch(value) is None:
        raise expected("a duration such as 1s or 250ms")
    return sum(float(number) * _GO_UNITS[unit] for number, unit in _GO_PART.findall(value))


class HttpServerConfig(Section):
    """Settings of HTTP: the headers of answers, and `http2`, which is accepted and has no effect."""

    http2: bool = Field(default=True, description="Accepted for files of other exporters; HTTP/1.1 is used.")
    headers: Mapping[str, str] = Field(default_factory=dict, description="Headers that every answer carries.")

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Check that only known headers are set, each with an allowed value."""
        headers = raw.get("headers")
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            allowed = _HEADER_VALUES.get(name)
            if allowed is None:
                yield at(("headers", name), refused(f"cannot be set; expected one of {', '.join(_HEADER_VALUES)}"))
            elif isinstance(value, str) and not re.fullmatch(r"[\x20-\x7e]*", value):
                yield at(("headers", name), refused("contains characters that are not allowed in an HTTP header"))
            elif isinstance(value, str) and value and allowed and value.lower() not in allowed:
                yield at(("headers", name), refused(f"found '{value}', expected one of {', '.join(allowed)}"))


class RateLimit(Section):
    """The limit of requests; those to the health endpoints are not counted."""

    interval: Annotated[float, BeforeValidator(_parse_interval)] = Field(
        default=0.0, description="Time between two requests; 0 switches it off."
    )
    burst: int = Field(default=0, ge=0, description="Requests that may come at once.")

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Check that the limit admits at least one request."""
        if raw.get("interval") not in {None, "0", "0s"} and raw.get("burst", "0") == "0":
            yield at(("burst",), refused("missing or 0, which refuses every request; expected at least 1"))


class WebConfig(Section):
    """The whole file; each of its sections may be absent."""

    tls_server_config: TlsSettings | None = None
    http_server_config: HttpServerConfig = HttpServerConfig()
    rate_limit: RateLimit = RateLimit()
    basic_auth_users: Mapping[
        Annotated[str, BeforeValidator(_parse_user)], Annotated[SecretStr, BeforeValidator(_parse_hash)]
    ] = Field(default_factory=dict, description="Users, and the bcrypt hashes of their passwords.")

    def tls(self) -> TlsSettings | None:
        """Return the server's TLS settings; None for plain HTTP."""
        config = self.tls_server_config
        return config if config is not None and config.model_fields_set else None


def load_web_config(path: Path) -> WebConfig:
    """Read and check a web configuration file and the files that it names; raises ConfigurationError."""
    file = read_marked(path, example="tls_server_config:", may_be_empty=True)
    if file.data is None:
        raise ConfigurationError(file.faults)

    faults: list[Fault] = list(file.faults)
    config = None
    try:
        config = WebConfig.model_validate(file_names_resolved(file.data, path.parent))
        tls = config.tls()
        if tls is not None:
            server_context(tls)
    except ValidationError as error:
        faults.extend(faults_of(error, WebConfig, file.locate))
    except TlsFileError as error:
        place = ("tls_server_config", error.key)
        faults.append(Fault(*file.locate(place), written(place), str(error)))
    if faults or config is None:
        raise ConfigurationError(sorted(dict.fromkeys(faults), key=lambda fault: fault.line or 0))
    return config

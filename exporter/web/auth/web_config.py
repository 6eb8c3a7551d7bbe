"""Reads a web configuration file in the format of the Prometheus exporters: TLS, headers of answers, basic auth."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from exporter.validation.section import Conflict, Section, validated
from exporter.validation.yaml_file import read_marked
from exporter.web.auth.tls import TlsSettingError, TlsSettings, read_pems, server_context

# The highest cost is 18: a check then takes about 20 seconds, and one more step would double the time. The last letter
# of a salt has only two significant bits, so it is one of four letters.
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|1[0-8])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
# An empty section counts as absent: the server speaks plain HTTP.
_OptionalTls = Annotated[TlsSettings | None, BeforeValidator(lambda given: None if given == {} else given)]
# A header that may be set → its allowed values in lower case; empty if the values are not limited to a list.
_HEADER_VALUES: Mapping[str, tuple[str, ...]] = {
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
    "Content-Security-Policy": (),
}


def _check_hash(secret: SecretStr) -> SecretStr:
    if not _BCRYPT.fullmatch(secret.get_secret_value()):
        raise ValueError("is not a bcrypt hash of a cost from 4 to 18; 'htpasswd -nBC 10 NAME' prints NAME:HASH")
    return secret


class HttpServerConfig(Section):
    """Headers of answers; `http2` has no effect, because HTTP/1.1 is served."""

    http2: bool = True
    headers: Mapping[str, str] = Field(default_factory=dict)

    def conflicts(self) -> Iterator[Conflict]:
        """Check that the headers are known, and that their values are allowed or empty."""
        for name, value in self.headers.items():
            allowed = _HEADER_VALUES.get(name)
            if allowed is None:
                yield ("headers", name), f"cannot be set; expected one of {', '.join(_HEADER_VALUES)}"
            elif not (value.isascii() and value.isprintable()):
                yield ("headers", name), "contains characters that are not allowed in an HTTP header"
            elif value and allowed and value.lower() not in allowed:
                yield ("headers", name), f"found '{value}', expected one of {', '.join(allowed)}"


class WebConfig(Section):
    """The whole file. `basic_auth_users` maps names to bcrypt hashes; `rate_limit` has no effect."""

    tls_server_config: _OptionalTls = None
    http_server_config: HttpServerConfig = HttpServerConfig()
    rate_limit: Mapping[str, object] = Field(default_factory=dict)
    basic_auth_users: Mapping[str, Annotated[SecretStr, AfterValidator(_check_hash)]] = Field(default_factory=dict)

    def conflicts(self) -> Iterator[Conflict]:
        """Check the TLS settings and the files that they name."""
        try:
            if self.tls_server_config is not None:
                server_context(self.tls_server_config, read_pems(self.tls_server_config))
        except TlsSettingError as error:
            yield ("tls_server_config", error.key), error.message


def load_web_config(path: Path) -> WebConfig:
    """Read and check a web configuration file and the TLS files that it names; raises ConfigurationError for faults."""
    file = read_marked(path)
    return validated(file, lambda: WebConfig.model_validate(file.data))

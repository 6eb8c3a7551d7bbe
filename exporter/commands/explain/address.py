"""Finds the address of a running exporter in the `web` section of its configuration; others may be invalid."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from exporter.settings.loading import read_file
from exporter.settings.service import WebSettings
from exporter.validation.faults import ConfigurationError
from exporter.validation.yaml_file import file_names_resolved
from exporter.web.auth.access import load_web_config

# Addresses that a server can listen on, but that a client cannot connect to.
_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}  # noqa: S104 - nothing listens here
_VARIABLE = "EDGE_EXPORTER_WEB__"
_KEYS = ("listen", "route_prefix", "config_file")


@dataclass(frozen=True, slots=True)
class AddressError(Exception):
    """The address cannot be read from the configuration; the message says why."""

    message: str

    def __str__(self) -> str:
        return self.message


def exporter_url(config: Path | None, environ: Mapping[str, str]) -> str:
    """Return the URL at which the exporter of this configuration serves, without a slash at its end.

    Args:
        config: the configuration file; without one, the file that `EDGE_EXPORTER_CONFIG` names, if any.
        environ: the environment, whose `EDGE_EXPORTER_WEB__…` variables win over the file.

    Raises:
        AddressError: the section, or the web configuration file that it names, cannot be used.
    """
    file = read_file(config, environ)
    if file.faults:
        raise AddressError("\n".join(str(fault) for fault in file.faults))
    data = file_names_resolved(file.data or {}, Path(file.source).parent)
    section = data.get("web")
    given = {key: value for key, value in section.items() if key in _KEYS} if isinstance(section, dict) else {}
    given |= {key: text for key in _KEYS if (text := environ.get(_VARIABLE + key.upper(), "").strip())}
    try:
        web = WebSettings.model_validate(given)
        is_encrypted = web.config_file is not None and load_web_config(web.config_file).tls() is not None
    except ValidationError:
        raise AddressError("the web section of the configuration is wrong; see `edge-exporter check`") from None
    except ConfigurationError as error:
        raise AddressError(str(error)) from None
    host = _LOOPBACK.get(web.listen.host, web.listen.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{'https' if is_encrypted else 'http'}://{host}:{web.listen.port}{web.route_prefix.rstrip('/')}"

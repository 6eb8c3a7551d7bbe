"""Reads the whole configuration, with every file that it names, and reports all of its faults together."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from exporter.foreign.regular_file import unreadable
from exporter.settings.flag import variable_of
from exporter.settings.loading import load_with_origins, read_file
from exporter.settings.model import Settings
from exporter.validation.faults import ConfigurationError, Fault, written
from exporter.validation.yaml_file import MarkedFile, file_names_resolved

_WEB_CONFIG_VARIABLE = variable_of("web", "config_file")
_WEB_CONFIG_FLAG = "--web.config-file"


def read_configuration(
    config: Path | None, flags: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[Settings, MarkedFile]:
    """Read the settings from a file, flags (name → text) and environment, and check them and the files that they name.

    Returns:
        The settings, and the file with its lines.

    Raises:
        ConfigurationError: something is wrong; it holds every fault.
    """
    faults: list[Fault] = []
    settings = None
    file = read_file(config, environ)
    try:
        settings, _ = load_with_origins(file, flags, environ)
        web_config = settings.web.config_file
        faults.extend(_untrustworthy(settings, file))
    except ConfigurationError as error:
        faults.extend(error.faults)
        web_config = _named_web_config(file, flags, environ)
    if web_config is not None:
        # Load the web server's modules only for such a file. A reload runs this function on a thread, so it does not
        # use `loading`.
        from exporter.web.auth.web_config import load_web_config  # noqa: PLC0415

        try:
            load_web_config(web_config)
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults or settings is None:
        raise ConfigurationError(faults)
    return settings, file


def _untrustworthy(settings: Settings, file: MarkedFile) -> Iterator[Fault]:
    """Yield the files of certificates that cannot be used; the settings check only that they exist."""
    for number, account in enumerate(settings.accounts):
        if account.ca_file is None:
            continue
        import ssl  # noqa: PLC0415 - for an account with authorities of its own

        try:
            ssl.create_default_context(cafile=account.ca_file)
        except ssl.SSLError:
            problem = "holds no certificate in PEM form"
        except OSError as error:
            problem = unreadable(error)
        else:
            continue
        path = ("accounts", number, "ca_file")
        yield Fault(*file.locate(path), written(path), f"{account.ca_file} {problem}")


def _named_web_config(file: MarkedFile, flags: Mapping[str, str], environ: Mapping[str, str]) -> Path | None:
    """Return the web configuration file that invalid settings name, so that its faults are reported with theirs."""
    given: object = flags.get(_WEB_CONFIG_FLAG) or environ.get(_WEB_CONFIG_VARIABLE, "").strip()
    if not given and file.data is not None:
        web = file_names_resolved(file.data, Path(file.source).parent).get("web")
        given = web.get("config_file") if isinstance(web, dict) else None
    return Path(given) if isinstance(given, str) and given.strip() not in {"", "null"} else None

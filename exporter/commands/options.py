"""The options that several commands share: configuration file, output format, port, and the flags of the settings."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.settings.flags import Flag, flags

C = TypeVar("C", bound=Callable[..., Any])

ACCOUNT = "Account"
# Flag → its additional names, which other Prometheus exporters use.
_TOOLKIT_NAMES = {"--web.listen": ("--web.listen-address",), "--web.config-file": ("--web.config.file",)}

# Adds `--config` to a command. Whether the file can be read is checked when the settings are read.
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="The configuration file (YAML); also EDGE_EXPORTER_CONFIG.",
)

port_option = partial(click.option, type=click.IntRange(0, 65_535), show_default=True)


def form_option(*forms: str, names: Sequence[str] = ("-o", "--output")) -> Callable[[C], C]:
    """Return a decorator that adds an option for the output format (parameter `form`); the first is the default."""
    return click.option(
        *names, "form", type=click.Choice(forms), default=forms[0], show_default=True, help="The output format."
    )


class SettingOption(click.Option):
    """The option for a flag of the settings."""

    def __init__(self, flag: Flag) -> None:
        default = f"  [default: {flag.default}]" if flag.default not in {"", "null"} else ""
        self.flag_name = flag.name
        # click requires an identifier. "." and "-" are replaced differently, so that flags have different identifiers.
        parameter_name = flag.name.lstrip("-").replace(".", "__").replace("-", "_")
        names = [flag.name, *_TOOLKIT_NAMES.get(flag.name, ()), parameter_name]
        super().__init__(names, metavar=flag.metavar, default=None, help=f"{flag.help}{default}")
        self.section = ACCOUNT if flag.path[0] == "accounts" else str(flag.path[0]).replace("_", " ").capitalize()


class SettingsCommand(click.Command):
    """A command that takes the flags of the settings.

    The function of the command receives `flags`: the name of each given flag → the text of its value.

    Args:
        lists_all: whether the help lists the flags of all settings; if False, it lists the flags of an account.
    """

    def __init__(self, *args: Any, lists_all: bool = False, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self._setting_options = [SettingOption(flag) for flag in flags()]
        self.params += self._setting_options
        self._lists_all = lists_all

    def invoke(self, ctx: click.Context) -> object:
        """Call the command, with the given flags as one parameter."""
        given = {option.flag_name: ctx.params.pop(option.name) for option in self._setting_options}
        ctx.params["flags"] = {name: text for name, text in given.items() if text is not None}
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help: the command's own options, then, section by section, the flags that `lists_all` selects."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            title = parameter.section if isinstance(parameter, SettingOption) else "Options"
            record = parameter.get_help_record(ctx)
            # An argument has no help record: the usage line shows the argument.
            if record is not None:
                sections.setdefault(title, []).append(record)
        titles = list(sections) if self._lists_all else ["Options", ACCOUNT]
        for title in titles:
            with formatter.section(title):
                formatter.write_dl(sections[title])
        if not self._lists_all:
            formatter.write_paragraph()
            formatter.write_text("This command also takes the other flags of `edge-exporter run --help`.")

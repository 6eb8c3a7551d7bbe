"""Defines the options that several commands share: the file, the output format and the settings' flags."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.settings.flags import Flag, flags

C = TypeVar("C", bound=Callable[..., Any])

# The key of `click.Context.meta` for: the help lists all flags.
WHOLE = "exporter.options.whole"
ACCOUNT = "Account"
# The names that other Prometheus exporters have for these flags; --log.level and --log.format are the same.
_TOOLKIT_NAMES = {"--web.listen": ("--web.listen-address",), "--web.config-file": ("--web.config.file",)}

# Adds `--config` to a command. A file that cannot be read is reported later, as a file from the variable is.
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="The configuration file (YAML); also EDGE_EXPORTER_CONFIG.",
)

# Adds the option of a port to a command.
port_option = partial(click.option, type=click.IntRange(0, 65_535), show_default=True)


def form_option(*forms: str, names: Sequence[str] = ("-o", "--output")) -> Callable[[C], C]:
    """Add the option of the output format, the parameter `form`, to a command; the first format is the default."""
    return click.option(
        *names, "form", type=click.Choice(forms), default=forms[0], show_default=True, help="The output format."
    )


class SettingOption(click.Option):
    """The option of a flag of the settings."""

    def __init__(self, flag: Flag) -> None:
        default = f"  [default: {flag.default}]" if flag.default not in {"", "null"} else ""
        parameter = flag.name.lstrip("-").replace(".", "__").replace("-", "_")
        names = [flag.name, *_TOOLKIT_NAMES.get(flag.name, ()), parameter]
        super().__init__(names, metavar=flag.metavar, default=None, help=f"{flag.help}{default}")
        self.section = ACCOUNT if flag.is_of_account else str(flag.path[0]).capitalize()


class AccountCommand(click.Command):
    """A command that takes the flags of an account, which have their own section in its help.

    The function of the command receives the given flags as `flags`: their names → their texts.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self.params += (SettingOption(flag) for flag in flags() if flag.is_of_account)

    def invoke(self, ctx: click.Context) -> object:
        """Call the command."""
        options = [parameter for parameter in self.params if isinstance(parameter, SettingOption)]
        given = {option.opts[0]: ctx.params.pop(option.name or "") for option in options}
        ctx.params["flags"] = {flag: text for flag, text in given.items() if text is not None}
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the flags by the section of the settings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            title = parameter.section if isinstance(parameter, SettingOption) else "Options"
            if title not in ("Options", ACCOUNT) and not ctx.meta.get(WHOLE):
                continue
            # An argument is in the usage line.
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(title, []).append(record)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class SettingsCommand(AccountCommand):
    """A command that takes every flag of the settings: its help lists an account's, `--help-all` all of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        text = "Show this message with every flag of the settings, and exit."
        options: Any = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": self._print_all}
        self.params.append(click.Option(["--help-all"], help=text, **options))
        self.params += (SettingOption(flag) for flag in flags() if not flag.is_of_account)

    def _print_all(self, ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
        if value and not ctx.resilient_parsing:
            click.echo(self.whole_help(ctx))
            ctx.exit()

    def whole_help(self, ctx: click.Context) -> str:
        """Return the help text with all flags of the settings, in sections."""
        ctx.meta[WHOLE] = True
        return self.get_help(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and where the others are listed."""
        super().format_options(ctx, formatter)
        if not ctx.meta.get(WHOLE):
            formatter.write_paragraph()
            formatter.write_text("--help-all lists every other flag of the settings, which it takes, too.")

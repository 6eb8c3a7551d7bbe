"""Defines the options that several commands share: the configuration file, the output format and the settings' flags.

The flags are loaded only if a command line holds one of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.commands.loading import loading
from exporter.commands.output.help import Command
from exporter.settings.flag import ACCOUNT_FLAGS, Flag

C = TypeVar("C", bound=Callable[..., Any])

_OWN_ALONE = "exporter: the options of the command line are the command's own"


def config_option(function: C) -> C:
    """Add `--config` to a command."""
    return click.option(
        "--config",
        # A file that cannot be read is reported later, in the same way as a file from the variable.
        type=click.Path(path_type=Path, readable=False),
        default=None,
        help="The configuration file (YAML); also EDGE_EXPORTER_CONFIG.",
    )(function)


def form_option(*forms: str, names: Sequence[str] = ("-o", "--output")) -> Callable[[C], C]:
    """Add the option of the output format to a command; its value is the parameter `form`.

    Args:
        forms: the formats; the first is the default.
        names: the option's names.
    """
    return click.option(
        *names, "form", type=click.Choice(forms), default=forms[0], show_default=True, help="The output format."
    )


def _print_all(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    command = context.command
    if value and isinstance(command, SettingsCommand) and not context.resilient_parsing:
        click.echo(command.whole_help(context))
        context.exit()


class AccountCommand(Command):
    """A command that takes `--config` and the flags of an account, which have their own section in its help.

    Attributes:
        account_params: the flags of an account.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self.account_params: list[click.Parameter] = [_option(flag) for flag in ACCOUNT_FLAGS]

    def own_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, without the flags of the settings."""
        return super().get_params(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters of the command."""
        return [*self.own_params(ctx), *self.account_params]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of an account."""
        write_section(formatter, "Options", help_records(ctx, self.own_params(ctx)))
        write_section(formatter, "Account", help_records(ctx, self.account_params))


class SettingsCommand(AccountCommand):
    """A command that takes every flag of the settings.

    Its help lists its own options and an account's, `--help-all` all of them. The other flags come from the settings,
    which are loaded only if the command line holds an option that is not the command's own.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self._others: list[click.Parameter] | None = None
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_all,
                help="Show this message with every flag of the settings, and exit.",
            )
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line."""
        own = {name for parameter in super().get_params(ctx) for name in parameter.opts}
        ctx.meta[_OWN_ALONE] = not ctx.resilient_parsing and all(
            word.partition("=")[0] in own for word in args if word.startswith("--")
        )
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own and an account's parameters, and all others if the command line may contain them."""
        own = super().get_params(ctx)
        return own if ctx.meta.get(_OWN_ALONE) else [*own, *self.other_params()]

    def other_params(self) -> list[click.Parameter]:
        """Return the flags that do not belong to an account."""
        if self._others is None:
            with loading():
                from exporter.settings.flags import flags  # noqa: PLC0415 - the settings as a whole; see the class
            self._others = [_option(flag) for flag in flags() if not flag.is_of_account]
        return self._others

    def whole_help(self, ctx: click.Context) -> str:
        """Return the help text with all flags of the settings, in sections."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        AccountCommand.format_options(self, ctx, formatter)
        sections: dict[str, list[click.Parameter]] = {}
        for parameter in self.other_params():
            sections.setdefault(section_of(parameter), []).append(parameter)
        for title, parameters in sections.items():
            write_section(formatter, title, help_records(ctx, parameters))
        return formatter.getvalue().rstrip("\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options and an account's, and where the others are listed."""
        super().format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(
            f"It also takes every other flag of the settings, which '{ctx.command_path} --help-all' lists."
        )


def section_of(parameter: click.Parameter) -> str:
    """Return the title of a flag's section in the help."""
    return parameter.opts[0].lstrip("-").partition(".")[0].capitalize()


def help_records(ctx: click.Context, parameters: Iterable[click.Parameter]) -> list[tuple[str, str]]:
    """Return the options among parameters with their help; arguments are in the usage line."""
    return [
        record
        for parameter in parameters
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
    ]


def write_section(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write a section of options, unless it is empty."""
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _option(flag: Flag) -> click.Option:
    default = f"  [default: {flag.default}]" if flag.default not in {"", "null"} else ""
    return click.Option([flag.name, _parameter(flag)], metavar=flag.metavar, default=None, help=f"{flag.help}{default}")


def flag_values(given: Mapping[str, Any], known: Iterable[Flag]) -> dict[str, str]:
    """Return the values of the given flags by their names."""
    return {flag.name: given[_parameter(flag)] for flag in known if given.get(_parameter(flag)) is not None}


def _parameter(flag: Flag) -> str:
    return flag.name.lstrip("-").replace(".", "__").replace("-", "_")

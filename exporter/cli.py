"""The command line: its commands, each of which is loaded when it is called."""

import gc
import signal
from importlib import import_module

import click

from exporter.commands.output.printing import complain
from exporter.validation.configuration_errors import ConfigurationError

INTERRUPTED = 130

# A command's name, which is that of its module, and one sentence: help and completion need not load the module.
COMMANDS = {
    "run": "Run the daemon.",
    "demo": "Run the exporter on a local platform, with nothing to configure.",
    "check": "Validate the configuration, then try every credential and target once.",
    "config": "Show the settings in force.",
    "explain": "Ask a running exporter why families have no series.",
    "backfill": "Write history from the charts as OpenMetrics with timestamps.",
    "call": "Carry out one documented operation, and print the answer as JSON.",
    "sandbox": "Serve the local platform alone.",
    "metrics": "Print the reference of every metric.",
    "assets": "Write the dashboards, alert rules, runbooks or configuration files to a folder.",
}

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def load(name: str) -> click.Command:
    """Import the module of a command, without garbage collections, and with Ctrl-C ending the process at once.

    Imported objects are never garbage, and searching them for garbage would take a fifth of the start. Python's own
    handling of Ctrl-C can be lost during an import; the default action of the system cannot.
    """
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    loaded: click.Command = import_module(f"exporter.commands.{name}").command
    # Exclude all present objects from later collections.
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, former)
    return loaded


class LazyGroup(click.Group):
    """Loads a command only when it is called; until then, a placeholder without parameters represents it."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names in the order of the help text."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find and load the called command, or report an error that names the nearest one."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, None if found is None else load(found.name or ""), rest

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in the help text, with their whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Call the command; a wrong configuration ends it with its message, and Ctrl-C without one."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            complain(str(error))
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    "edge-exporter",
    cls=LazyGroup,
    context_settings=CONTEXT,
    commands=[click.Command(name, help=sentence) for name, sentence in COMMANDS.items()],
)
@click.version_option(package_name="edge-exporter", prog_name="edge-exporter")
def command() -> None:
    """Serves an edge platform's statistics to Prometheus."""

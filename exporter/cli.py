"""The command line. The module of a command is imported when the command is called."""

import gc
import signal
from importlib import import_module

import click

from exporter.commands.output.printing import complain
from exporter.validation.configuration_errors import ConfigurationError

INTERRUPTED = 130  # as shells report a process that SIGINT ended

# The name of a command, which is also the name of its module → its help sentence. The sentences are here so that a list
# of the commands needs no import of the modules.
COMMANDS = {
    "run": "Run the daemon.",
    "demo": "Run the exporter with a simulated platform; nothing has to be configured.",
    "check": "Validate the configuration, then poll the targets and print the results.",
    "config": "Show the settings, and where each was set.",
    "explain": "Ask a running exporter why families have no series.",
    "backfill": "Write history from the platform's charts as OpenMetrics with timestamps.",
    "call": "Carry out one operation of the platform, and print the answer as JSON.",
    "sandbox": "Serve the simulated platform without an exporter.",
    "metrics": "Print the reference of the metrics.",
    "assets": "Write the dashboards, alert rules, runbooks or configuration files to a folder.",
}


def load_command(name: str) -> click.Command:
    """Import the module of a command, and return the command.

    During the import, garbage collection is off: imported objects are rarely garbage, and searching them would delay
    the start. Also during the import, Ctrl-C ends the process by the default action of the operating system, because an
    import can lose the KeyboardInterrupt of Python's handler.
    """
    former_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    try:
        loaded: click.Command = import_module(f"exporter.commands.{name}").command
        # Modules stay until the process ends, so later garbage collections need not search them.
        gc.freeze()
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, former_handler)
    return loaded


class LazyGroup(click.Group):
    """Loads a command when the command is called; until then, a placeholder has its name and its help sentence."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help text."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find and load the called command; an unknown command is an error or, during shell completion, gives None."""
        name, _placeholder, rest = super().resolve_command(ctx, args)
        loaded = None if name is None else load_command(name)
        return name, loaded, rest

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in the help text. Unlike click's own list, this one has whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Call the command; exit with 1 and a message if the configuration is wrong, with 130 after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            complain(str(error))
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    "edge-exporter",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    commands=[click.Command(name, help=sentence) for name, sentence in COMMANDS.items()],
)
@click.version_option(package_name="edge-exporter", prog_name="edge-exporter")
def command() -> None:
    """Serves an edge platform's statistics to Prometheus."""

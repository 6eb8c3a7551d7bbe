"""`completion`: prints scripts that complete commands, options, operations and their parameters in a shell."""

from typing import ClassVar

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from exporter.commands.output.help import Command

PROGRAM = "edge-exporter"
VARIABLE = "_EDGE_EXPORTER_COMPLETE"


class Bash(BashComplete):
    """Leaves the cursor behind `name=`, where the value goes."""

    source_template: ClassVar[str] = BashComplete.source_template.replace(
        "            COMPREPLY+=($value)\n",
        "            COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace\n",
    )

    def source(self) -> str:
        """Return the script without a check of this machine's bash: the script may be meant for another one."""
        return ShellComplete.source(self)


class Zsh(ZshComplete):
    """Leaves the cursor behind `name=`, where the value goes."""

    source_template: ClassVar[str] = ZshComplete.source_template.replace(
        "_describe -V unsorted completions_with_descriptions -U\n",
        "local suffix=' '\n"
        "        [[ \"$completions_with_descriptions[1]\" == *=:* ]] && suffix=''\n"
        '        _describe -V unsorted completions_with_descriptions -U -S "$suffix"\n',
    )


# fish adds no space after a `=`.
SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": FishComplete}


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  source <(edge-exporter completion bash)      in ~/.bashrc
    zsh   source <(edge-exporter completion zsh)       in ~/.zshrc, after compinit
    fish  edge-exporter completion fish > ~/.config/fish/completions/edge-exporter.fish
    """  # noqa: D301 - click reads the \b
    click.echo(SHELLS[shell](context.find_root().command, {}, PROGRAM, VARIABLE).source(), nl=False)

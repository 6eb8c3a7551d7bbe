"""`completion`: prints the scripts of shells that complete commands, options, operations and names."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from exporter.settings.flag import CONFIG_VARIABLE

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


@click.command("completion")
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


def complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names in the list of the configuration file after which a parameter is called."""
    kind = f"{str(parameter.name).removesuffix('s')}s"
    return [CompletionItem(name) for name in _names(context, kind) if name.startswith(incomplete)]


def _names(context: click.Context, kind: str) -> Iterator[str]:
    """Yield the names in a list of the file; none if it cannot be read, because a shell shows no messages."""
    named = context.params.get("config") or os.environ.get(CONFIG_VARIABLE, "").strip()
    if not named:
        return
    from exporter.validation.yaml_file import read_marked  # noqa: PLC0415 - YAML, for completion alone

    listed = (read_marked(Path(named), example="accounts:").data or {}).get(kind)
    for item in listed if isinstance(listed, list) else []:
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(name, str):
            yield name

"""How a command ends that cannot do what it was asked: a message on standard error and an exit code, never a trace."""

import sys
from typing import NoReturn

from exporter.commands.output.printing import echo

FAULT = 1
MISUSE = 2


def complain(message: str, code: int = FAULT) -> NoReturn:
    """End the command; the message may have several lines, and its other control characters are escaped."""
    echo(message, err=True)
    sys.exit(code)

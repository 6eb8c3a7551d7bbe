"""Lets `python -m exporter` run the commands."""

import errno
import os
import signal
import sys

# Standard output goes to a file, and its disk is full, or gone.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def main() -> None:
    """Run the command line."""
    _fill_closed_streams()
    # Pydantic would look through every installed package for plugins, and let them see what it validates.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # Python's way of Ctrl-C can get lost in an import; the system's cannot.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from exporter.cli import command  # noqa: PLC0415 - see above

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command.main(prog_name="edge-exporter")
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        # What is left of the output is written where there is room for it, or the end would complain of it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"the output cannot be written: {error.strerror}")


def _fill_closed_streams() -> None:
    """Let a standard stream that the caller has closed lead nowhere.

    Otherwise the next file or socket would take its number, and what is printed would go there.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()

"""The entry point of `edge-exporter` and of `python -m exporter`."""

import errno
import os
import re
import signal
import sys

# Environment variables that are removed, because they could make a library crash the program, change its behaviour, or
# send its data elsewhere. docs/configuration.md names the variables that are kept.
_IGNORED = re.compile(
    "prometheus_multiproc_dir|PROMETHEUS_(MULTIPROC_DIR|DISABLE_CREATED_SERIES|LEGACY_NAME_VALIDATION)|PSYCOPG_.*"
    "|(OTEL|FASTAPI|UVICORN|STARLETTE|PYDANTIC)_.*|WEB_CONCURRENCY|FORWARDED_ALLOW_IPS|UNICODE_VERSION|SSLKEYLOGFILE"
)
# Errors of writing that are no fault of the program: a full or broken disk, a used-up quota, or too large a file.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def main() -> None:
    """Prepare the signals, streams and environment of the process, and run the command line."""
    if sys.argv[1:2] == ["run"]:
        _handle_early_signals()
    fill_closed_streams()
    # If the encoding of the locale lacks a character, print an escape in its place, as Python does on standard error.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a file, not another TextIO
    _clean_environment()
    # An import can lose the KeyboardInterrupt that Python raises at Ctrl-C, so let Ctrl-C end the process meanwhile.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from exporter.cli import command  # noqa: PLC0415 - only now are the signals, streams and environment ready

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command.main(prog_name="edge-exporter")
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        # Send the rest of standard output to the null device; otherwise the interpreter reports the error at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"the output cannot be written: {error.strerror}")


def _handle_early_signals() -> None:
    """Until the daemon has its handlers, let SIGTERM end the process at once, and let SIGHUP wait."""
    # Without a handler, the first process of a container would ignore SIGTERM. There is nothing to save yet.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def _clean_environment() -> None:
    for name in [name for name in os.environ if _IGNORED.fullmatch(name)]:
        del os.environ[name]
    # Otherwise pydantic would search all installed packages for plugins, and pass the validated values to the plugins.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"


def fill_closed_streams() -> None:
    """Connect each closed standard stream to the null device.

    Otherwise the next file or socket that is opened would get the stream's number, and printed text would go there.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The new descriptor gets the lowest free number, which is `number`.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()

"""A Prometheus exporter for an edge platform's management API and database endpoint."""


def __getattr__(name: str) -> str:
    """Look up `__version__` at its first use, so that help texts need not import `importlib.metadata`."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - only the first use needs it

    try:
        found = version("edge-exporter")
    except PackageNotFoundError:
        # A source tree that was never installed.
        found = "0+unknown"
    # Later uses find this global variable, without a call of this function.
    globals()[name] = found
    return found

"""The classes of the errors of calls; a subclass that a test defines is not one of them."""

from exporter.platform import errors

KINDS_OF_ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PlatformError)
]

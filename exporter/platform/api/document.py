"""The model for the answers of configured endpoints: JSON of any shape."""

from typing import Any

from pydantic import model_validator

from exporter.mask import mask_secrets
from exporter.platform.wire import Wire


class Document(Wire):
    """A JSON document of any shape; texts in fields with a secret's name are masked."""

    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _fields_of(cls, data: object) -> dict[str, object]:
        mask_secrets(data)
        return {"value": data}

    def has_error(self) -> bool:
        """Return whether the document looks like the envelope of a failure."""
        fields = self.value if isinstance(self.value, dict) else {}
        has_error_object = isinstance(fields.get("error"), dict) or isinstance(fields.get("errorResponse"), dict)
        return fields.get("data") is None and (fields.get("success") is False or has_error_object)

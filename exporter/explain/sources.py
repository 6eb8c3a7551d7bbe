"""Finds the source fields of a family in its help text."""

import re
from functools import lru_cache

_PARENTHESES = re.compile(r"\(([^()]*)\)")
# A field within the parentheses, alone or as in `(Type of all search results)`.
_FIELD = re.compile(r"\s*([A-Za-z]\w*(?:\.\w+)*)(?:\s+of\s.*|\s*)")
# Names of fields have a capital letter inside, such as `wafEnabled` or `MonthlyCost`.
_INNER_CAPITAL = re.compile(r"\b\w*[a-z][A-Z][a-z]\w*\b")


@lru_cache(maxsize=1024)
def source_fields(help_text: str) -> tuple[str, ...]:
    """Return the source fields that a help text names: `(MonthlyCost)`, or `counted from MonthlyCost`.

    Returns:
        The names in the interface, with dots for fields of an object; empty if the text names none.
    """
    inside = ",".join(_PARENTHESES.findall(help_text))
    named = [found[1] for part in re.split("[,;]", inside) if (found := _FIELD.fullmatch(part))]
    outside = _INNER_CAPITAL.findall(_PARENTHESES.sub("", help_text))
    return tuple(dict.fromkeys((*named, *outside)))

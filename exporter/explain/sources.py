"""Which fields of the platform's answers a family is read from, as its help names them."""

import re
from functools import lru_cache

_PARENTHESES = re.compile(r"\(([^()]*)\)")
# A part of the parentheses that is a field, or says of what it is one, as in `(Type of all search results)`.
_FIELD = re.compile(r"\s*([A-Za-z]\w*(?:\.\w+)*)(?:\s+of\s.*|\s*)")
# A field of the interface is written with a capital within, as `wafEnabled` or `MonthlyCost`.
_INNER_CAPITAL = re.compile(r"\b\w*[a-z][A-Z][a-z]\w*\b")


@lru_cache(maxsize=1024)
def source_fields(help_text: str) -> tuple[str, ...]:
    """The source fields that a family's help names: `(MonthlyCost)`, or `counted from MonthlyCost`.

    Returns:
        Wire names, with dots where a field stands in an object; none where the help names no field.
    """
    inside = ",".join(_PARENTHESES.findall(help_text))
    named = [found[1] for part in re.split("[,;]", inside) if (found := _FIELD.fullmatch(part))]
    outside = _INNER_CAPITAL.findall(_PARENTHESES.sub("", help_text))
    return tuple(dict.fromkeys((*named, *outside)))

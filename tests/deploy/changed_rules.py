"""Changes the shipped alerts as the chart's values and the mixin's configuration should."""

import re
from collections.abc import Mapping
from typing import Any

from tests.deploy.files import RULES, documents

Groups = list[dict[str, Any]]


def changed_rules(
    *,
    labels: Mapping[str, str] | None = None,
    severities: Mapping[str, str] | None = None,
    runbook_base: str = "",
    disabled: tuple[str, ...] = (),
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Groups]:
    """Return the groups of each rule file, by its name, with these changes."""
    files = {path.name: documents(path.read_text())[0]["groups"] for path in sorted(RULES.glob("*.yml"))}
    for group in (group for groups in files.values() for group in groups):
        group["rules"] = [rule for rule in group["rules"] if rule.get("alert") not in disabled]
        for rule in (rule for rule in group["rules"] if "alert" in rule):
            own = (overrides or {}).get(rule["alert"], {})
            severity = rule["labels"]["severity"]
            rule["labels"] |= {"severity": (severities or {}).get(severity, severity), **(labels or {})}
            if runbook_base:
                rule["annotations"]["runbook_url"] = f"{runbook_base}/{rule['alert']}.md"
            rule |= {key: own[key] for key in ("for", "keep_firing_for", "expr") if key in own}
            if "severity" in own:
                rule["labels"]["severity"] = own["severity"]
            rule["labels"] |= own.get("labels", {})
            rule["annotations"] |= own.get("annotations", {})
            for name, value in own.get("thresholds", {}).items():
                marked = rf"(?m)\S+(\s+# threshold: {name})$"
                rule["expr"] = re.sub(marked, rf"{value}\g<1>", rule["expr"])
    return files


def threshold_names(expr: str) -> tuple[str, ...]:
    """Return the thresholds that an expression marks, each once, in order."""
    return tuple(dict.fromkeys(re.findall(r"(?m)# threshold: (\w+)$", expr)))

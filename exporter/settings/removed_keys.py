"""Names the configuration keys that were removed, and what to use in their place."""

from collections.abc import Mapping

# Path of the key without the places in lists → the message that refuses it, which docs/upgrading.md explains.
REMOVED: Mapping[str, str] = {
    "accounts.proxy": "set HTTPS_PROXY or HTTP_PROXY, and NO_PROXY for what is called directly",
    "accounts.ca_file": "set SSL_CERT_FILE, or SSL_CERT_DIR",
    "endpoint_files": "write the items of these files below endpoints",
    "endpoints.metrics.complete": "delete it: a new label value is always counted from the counter's first sight on",
    "series.max_per_family": "use series.max_label_values, the most label values of a metric for each target",
    "alertmanager_url": "Alertmanager's own page silences an alert that fires; amtool silences a target before",
    "series.created": "counters have no _created samples; query how a counter has changed with rate() and increase()",
}

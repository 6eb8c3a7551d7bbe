"""The operations of the interface document."""

# The endpoint table of the interface document, and its database pipeline.
DOCUMENTED = (
    ("GET", "/dnszone/{id}/statistics"),
    ("GET", "/dnszone/{zoneId}/records/scan"),
    ("POST", "/compute/script/{id}"),
    ("POST", "/compute/script/{id}/secrets"),
    ("POST", "/mc/registries/tags"),
    ("PUT", "/shield/shield-zone/{shieldZoneId}/bot-categorization/categories/{category}"),
    ("PATCH", "/shield/shield-zone/{shieldZoneId}/access-lists/configurations/{id}"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/access-lists/{id}"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/api-guardian"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/bot-detection"),
    ("GET", "/shield/shield-zones"),
    ("GET", "/shield/metrics/rate-limit/{id}"),
    ("GET", "/shield/waf/custom-rule/{id}"),
    ("GET", "/shield/waf/rules/plan-segmentation"),
    ("GET", "/search"),
    ("POST", "/v2/pipeline"),
)

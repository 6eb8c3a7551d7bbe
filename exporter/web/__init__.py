"""The HTTP endpoints of the exporter: metrics, health, reload, status page, JSON API and service discovery.

`server.py` listens, and `app.py` routes. `metrics_endpoint.py` serves the exposition in the format that
`negotiation.py` chooses. `parts.py` names the parts of the exporter that endpoints read. `status.py`,
`target_statuses.py`, `target_page.py` and `absences.py` describe these parts as JSON, for the API, the probes and the
templates in `page/`. `http_sd.py` is Prometheus' service discovery, `url_fields.py` reads queries,
`security_headers.py` sets headers, `auth/` has TLS and basic auth.

In: requests. Out: answers. A reload may cause platform calls; other requests do not.
"""

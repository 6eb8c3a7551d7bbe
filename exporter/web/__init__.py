"""The HTTP endpoints of the exporter: metrics, health, reload, status page, JSON API and service discovery.

`server.py` listens, and `app.py` routes. `metrics.py` serves the current generation in the format that `negotiation.py`
chooses. `parts.py` holds what the other endpoints read. `status.py`, `targets.py`, `target_page.py` and `absences.py`
make JSON of it, for the API, the templates in `page/` and the probes. `http_sd.py` is Prometheus' service discovery,
`url_fields.py` reads queries, `security_headers.py` is for all answers, and `auth/` holds TLS and basic auth.

In: requests. Out: what other packages have computed before; no request causes a platform call.
"""

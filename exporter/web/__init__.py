"""The HTTP endpoints of the exporter: metrics, health, reload, status page and JSON API.

`server.py` listens, `app.py` routes, `metrics.py` and `headers.py` serve the current generation,
`parts.py` says what they read of the daemon, `target_query.py` reads queries about targets, `status.py` collects JSON
for the page, `api.py` sends it, `target_page.py` that of one target, `readiness.py` answers probes,
`http_sd.py` Prometheus' service discovery, `auth/` holds TLS and basic auth, `page/` the HTML.

In: requests. Out: what other rooms have computed before; no request causes a platform call.
"""

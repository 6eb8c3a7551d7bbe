"""The HTTP endpoints of the exporter: metrics, health, reload, status page and JSON API.

`server.py` listens, `app.py` routes, `metrics.py` and `headers.py` serve the current generation,
`target_query.py` reads queries about targets, `status.py` collects the JSON of which the page is made, `api.py` sends
it, `auth/` holds TLS and basic auth, `page/` the HTML.

In: requests. Out: what other rooms have computed before; no request causes a platform call.
"""

"""The HTTP endpoints of the exporter: metrics, health, reload, status page and JSON API.

`server.py` listens, `app.py` routes, `metrics.py` and `negotiation.py` serve the generation that the renderer made,
`target_query.py` serves single targets, `status.py` and `status_models.py` collect what page and API show, `auth/`
holds TLS and basic auth, `page/` the HTML.

In: requests. Out: what others have computed already; no request causes a call of the platform.
"""

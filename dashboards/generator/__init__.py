"""The code that makes the Grafana dashboards beside it: `python -m dashboards.generator`.

`pages/` declares the dashboards and their panels, `queries/` what the panels ask, `page.py` what a page, a panel and a
query are, `grafana.py` and `visuals.py` turn them into Grafana's JSON, `inventory.py` lists every query for the tests.
"""

"""Generates the Grafana dashboards: `python -m dashboards.generator`.

`pages/` declares the dashboards and their panels, `queries/` their queries. `page.py` defines what pages, panels and
queries are; `tables.py` has panels that several pages use. `grafana.py` and `visuals.py` convert all of it to Grafana's
JSON. `inventory.py` lists every query for the tests.
"""

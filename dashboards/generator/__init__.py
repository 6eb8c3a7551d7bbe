"""Generates the Grafana dashboards: `python -m dashboards.generator`.

`pages/` declares the dashboards and their panels, `queries/` queries that several of them use. `page.py` defines what
pages, panels and queries are; `grafana.py` and `visuals.py` convert them to Grafana's JSON. `declared.py` makes a panel
of a metric that has none. `all_pages.py` lists the pages.
"""

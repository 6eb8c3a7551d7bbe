"""Generates the Grafana dashboards: `python -m dashboards.generator`.

`pages/` declares the dashboards and their panels; `queries/` has queries that several of them use. `page.py` defines
the data types of pages, panels and queries; `grafana.py` and `visuals.py` convert them to Grafana's JSON. `declared.py`
makes panels for metrics that no page shows. `all_pages.py` lists the pages; `endpoints.py` has the dashboard of the
shipped endpoint files.
"""

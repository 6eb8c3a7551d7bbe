"""Generates the Grafana dashboards: `python -m dashboards.generator`.

`pages/` declares dashboards and their panels; `queries/` has the queries of alerts, findings and tiles. `page.py`
defines the data types of pages, panels and queries; `grafana.py` and `visuals.py` convert them to Grafana's JSON.
`declared.py` makes a panel from the declaration of a metric. `all_pages.py` lists the pages; `endpoints.py` has the
dashboard of the shipped endpoint files.
"""

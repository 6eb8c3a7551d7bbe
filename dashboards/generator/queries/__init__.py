"""The queries of the dashboards by page, apart from the panels that draw them."""

"""The status page and the page of absent families as HTML.

In: the status models. Out: pages without external resources; every text in them is escaped.
"""

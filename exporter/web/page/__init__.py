"""The status page, the page of a target and the page of absent families as HTML.

In: the JSON that a page shows. Out: pages without external resources; every text in them is escaped.
"""

"""The status page as HTML.

In: the status models. Out: one page without external resources; every foreign text in it is escaped.
"""

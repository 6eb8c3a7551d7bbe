"""The status page, the page of a target and the page of absent families as HTML.

In: the JSON that a page shows. Out: a page without external resources, with escaped texts.
"""

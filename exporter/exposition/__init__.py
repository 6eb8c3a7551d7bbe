"""Joins the families of the targets to the bytes that a scrape receives.

- `store.py`: keeps the statuses of targets, and sample lines of changed families until the renderer takes the lines.
- `sample_lines.py`: renders a family as the client library's encoder does.
- `compressed_segments.py`: joins and compresses the bytes of many targets.
- `exposition.py`: joins the families of the targets in both formats.
- `renderer.py`: builds the generations on a thread.

In: families of targets. Out: generations, which are complete and immutable.
"""

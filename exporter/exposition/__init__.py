"""The families of all targets, and the bytes that a scrape receives.

- `store.py`: the status of each target, and the sample lines of its changed families until the renderer takes them.
- `sample_lines.py`: renders a family as the client library's encoder does.
- `compressed_segments.py`: joins and compresses the bytes of many targets.
- `exposition.py`: joins the families of all targets in both formats.
- `renderer.py`: builds the generations on a thread.

In: families of targets. Out: generations, which are complete and immutable.
"""

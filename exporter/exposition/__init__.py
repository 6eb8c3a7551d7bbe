"""The families of all targets, and the bytes that a scrape receives.

- `store.py`: whether the polls of each target succeed, and its families until they expire.
- `sample_lines.py`: renders a family as the client library's encoder does.
- `compressed_segments.py`: joins and compresses the bytes of many targets.
- `exposition.py`: keeps both formats up to date.
- `renderer.py`: builds the next generation on a thread, at most once a second.

In: families of finished polls. Out: a complete, immutable generation of bytes. No scrape waits for rendering.
"""

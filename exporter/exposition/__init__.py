"""The families of all targets, and the bytes that a scrape receives.

`status_board.py` holds whether each target's polls succeed, and why not; `store.py` beside it holds each target's
families until they expire; `encoding.py` renders a family by the client library's own
encoder; `segments.py` joins and compresses many targets' bytes; `exposition.py` keeps both formats up to date;
`renderer.py` builds the next generation on a thread, at most once a second.

In: families of finished polls. Out: a complete, immutable generation of bytes. No scrape waits for rendering.
"""

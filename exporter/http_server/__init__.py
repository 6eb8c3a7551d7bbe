"""An HTTP server inside a running event loop: uvicorn, made safe against slow and numerous clients.

`loop_server.py` starts and stops it, and accepts connections; `connections.py` limits their number, and `protocol.py`
the time and the size of a request.

In: an ASGI application and a bound socket. Out: its answers. The exporter and the sandbox are served by it.
"""

"""An HTTP server inside a running event loop: uvicorn, made safe against slow and numerous clients.

`loop_server.py` starts and stops the server, and accepts connections. `connections.py` limits the number of
connections, and `protocol.py` limits the time of a request and the size of its head.

In: an ASGI application and a bound socket. Out: the answers of the application.
"""

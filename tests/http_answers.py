"""An HTTP server on threads whose answers a function of the test returns, even while the test's loop is busy."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# (handler with the request's line and headers, body of the request) → status and body of the answer.
Answer = Callable[[BaseHTTPRequestHandler, bytes], tuple[int, bytes]]


class _Server(ThreadingHTTPServer):
    request_queue_size = 512


@contextmanager
def answering(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve GET and POST on a free port until the block ends; yield the address.

    Args:
        answer: returns the status and the body of each answer.
        tls: the certificate, for HTTPS.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            status, body = answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                self.close_connection = True

        do_GET = do_POST = respond  # noqa: N815 - the names that the library calls

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

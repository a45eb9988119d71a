"""A provider without places that can be told to refuse; it remembers when it was asked, and what it answered."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Moods:
    """What it answers, request by request; after the last of them 200 with nothing in it."""

    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    log: list[tuple[float, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> tuple[int, dict[str, str]]:
        with self.lock:
            status, headers = self.answers.pop(0) if self.answers else (200, {})
            self.log.append((time.monotonic(), status))
            return status, headers


@contextmanager
def moody_provider(*answers: tuple[int, dict[str, str]]) -> Iterator[tuple[str, Moods]]:
    moods = Moods(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers = moods.next()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", moods
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

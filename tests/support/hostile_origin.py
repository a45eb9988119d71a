"""A web server that lies: each path is answered by whatever a test gave it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


class HostileOrigin:
    """Serves a folder, but for the paths that `answers` has. Without ranges unless an answer makes some."""

    def __init__(self, root: Path) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str | None]] = []
        self._root = root
        self.url = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append((request.path, request.headers["Range"]))
        if own := self.answers.get(request.path):
            own(request)
            return
        path = self._root / request.path.lstrip("/")
        content = path.read_bytes() if path.is_file() else None
        send(b"" if content is None else content, status=404 if content is None else 200)(request)


def send(content: bytes, *, status: int = 200, size: int | None = None, **headers: str) -> Answer:
    """An answer with this content; `size` is what it claims to have."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(content) if size is None else size))
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def send_for_ever(request: BaseHTTPRequestHandler) -> None:
    """No length, and no end."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"[" * 65536)


@contextmanager
def hostile_origin(root: Path) -> Iterator[HostileOrigin]:
    origin = HostileOrigin(root)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                origin.answer(self)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    origin.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield origin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

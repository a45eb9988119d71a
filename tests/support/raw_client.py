"""A client that writes requests exactly as they are given."""

import re
import socket
from urllib.parse import urlsplit


class Client:
    """One connection, on which requests are written as they are."""

    def __init__(self, address: str) -> None:
        self._where = urlsplit(address)
        self.connect()

    def connect(self) -> None:
        self.sock = socket.create_connection((self._where.hostname, self._where.port), timeout=30)
        self.file = self.sock.makefile("rb")

    def close(self) -> None:
        self.file.close()
        self.sock.close()

    def _connect_again(self) -> None:
        self.close()
        self.connect()

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """The head without its date, and the body; once more where the server had closed an idle connection."""
        try:
            self.sock.sendall(request)
            answer = self.read(with_body=not request.startswith(b"HEAD"))
        except (BrokenPipeError, ConnectionResetError):
            answer = b"", b""
        if not answer[0]:
            self._connect_again()
            self.sock.sendall(request)
            answer = self.read(with_body=not request.startswith(b"HEAD"))
        if b"connection: close" in answer[0]:
            self._connect_again()
        return answer

    def read(self, *, with_body: bool = True) -> tuple[bytes, bytes]:
        lines: list[bytes] = []
        while (line := self.file.readline()) not in {b"\r\n", b""}:
            lines.append(line)
        head = b"".join(line for line in lines if not line.startswith(b"date:"))
        length = re.search(rb"^content-length: (\d+)", head, re.MULTILINE)
        body = self.file.read(int(length[1])) if length and with_body else b""
        if b"transfer-encoding: chunked" in head and with_body:
            body = self._read_chunks()
        return head, body

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.file.readline(), 16):
            body += self.file.read(size)
            self.file.readline()
        self.file.readline()
        return body

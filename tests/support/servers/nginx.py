"""A private nginx that serves a folder: quickly, slowly, without ranges, and over TLS; and says what it sent. Or one
that is a proxy, as its `server` block says.
"""

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.servers.sharing import find_program

# `user` is for root alone, whose children would otherwise be somebody who may not read a test's folder.
_CONFIGURATION = """
{user}
daemon off;
# One process: a worker would outlive a master that is killed.
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    log_format sent '$status $body_bytes_sent $uri';
    access_log {folder}/access.log sent;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    sendfile on;
    types {{ }}
    {servers}
}}
"""
_FILES = """
    server {{
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls_port} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {folder}/key.pem;
        root {root};
        location /slow/ {{ alias {root}/; limit_rate 200k; }}
        location /whole/ {{ alias {root}/; max_ranges 0; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
        location /elsewhere/ {{ return 302 http://localhost:{port}/; }}
        location /round/ {{ return 302 /round/; }}
        location /failing/ {{ return 500; }}
    }}
"""


@dataclass(frozen=True)
class Sent:
    status: int
    size: int
    path: str


@dataclass(frozen=True)
class Nginx:
    url: str
    tls_url: str
    certificate: Path
    log: Path

    def sent(self) -> list[Sent]:
        """What was answered so far, in the order in which the answers ended."""
        rows = (line.split(maxsplit=2) for line in self.log.read_text().splitlines())
        return [Sent(int(status), int(size), path) for status, size, path in rows if path != "/up"]


def command(port: int, tls_port: int, folder: Path, root: Path) -> list[str]:
    """How one is started on these ports; what it keeps goes into the folder."""
    certificate = make_certificate(folder)
    files = _FILES.format(port=port, tls_port=tls_port, folder=folder, root=root, certificate=certificate)
    return command_for(files, folder)


def command_for(servers: str, folder: Path) -> list[str]:
    """How one with these `server` blocks is started."""
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(_CONFIGURATION.format(folder=folder, user=user, servers=servers))
    return [
        find_program("nginx", "/usr/sbin/nginx"),
        "-p",
        str(folder),
        "-c",
        str(folder / "nginx.conf"),
        "-e",
        "stderr",
    ]


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"GET /up HTTP/1.0\r\n\r\n")
            return connection.recv(16).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def make_certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself; its key stands beside it."""
    certificate = folder / "certificate.pem"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    whose = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    where = ["-keyout", str(folder / "key.pem"), "-out", str(certificate)]
    subprocess.run([find_program("openssl"), "req", *kind, *whose, *where], check=True, capture_output=True)
    return certificate

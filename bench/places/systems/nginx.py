"""The ceiling: nginx sends a file of the size that Waypost's answer has on average."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.places.questions import Kind
from bench.places.systems import Ask, Serving, System
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import find_program, free_port

# `user` is for root alone, whose worker would otherwise be somebody who may not read the folder.
_CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    types {{ }}
    default_type application/geo+json;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/root;
    }}
}}
"""


def nginx(folder: Path, sizes: Mapping[Kind, int]) -> System:
    return System("nginx", {kind: _asking(kind) for kind in sizes}, lambda core: _serve(folder, sizes, core))


def _asking(kind: Kind) -> Ask:
    return lambda _: f"/{_file_of(kind)}"


def _file_of(kind: Kind) -> str:
    return kind.replace(" ", "-")


@contextmanager
def _serve(folder: Path, sizes: Mapping[Kind, int], core: int) -> Iterator[Serving]:
    port = free_port()
    (folder / "root").mkdir(parents=True)
    for kind, size in sizes.items():
        (folder / "root" / _file_of(kind)).write_bytes(b"x" * size)
    user = "user root;" if os.getuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(port=port, folder=folder, user=user))
    command = [find_program("nginx", "/usr/sbin/nginx"), "-p", str(folder), "-c", str(configuration), "-e", "stderr"]
    url, ready = f"http://127.0.0.1:{port}", f"/{_file_of(next(iter(sizes)))}"
    with serving(command, url=url, ready=ready, core=core, folder=folder, env=plain_environ()) as started:
        yield started

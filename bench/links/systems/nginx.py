"""The ceiling: nginx sends everybody to the same place, and counts nobody."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.links.systems import System, by_phrase
from bench.places.systems import Serving
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import find_program, free_port
from waypost.sharing.links.link import Link

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
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port};
        location = /readyz {{ return 200; }}
        location / {{ return 302 https://www.example.org/news/a-page-of-usual-length?utm_source=mail; }}
    }}
}}
"""


def nginx(folder: Path, links: Sequence[Link]) -> System:
    return System("nginx", links, by_phrase, lambda core: _serve(folder, core), knows_links=False)


@contextmanager
def _serve(folder: Path, core: int) -> Iterator[Serving]:
    port = free_port()
    folder.mkdir()
    user = "user root;" if os.getuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(port=port, folder=folder, user=user))
    command = [find_program("nginx", "/usr/sbin/nginx"), "-p", str(folder), "-c", str(configuration), "-e", "stderr"]
    url = f"http://127.0.0.1:{port}"
    with serving(command, url=url, ready="/readyz", core=core, folder=folder, env=plain_environ()) as started:
        yield started

"""A real nginx in front of a server that listens on loopback: nobody becomes this machine by passing through it."""

from pathlib import Path

import httpx
import pytest

from support.processes import Processes
from support.servers.private import private_proxy

BARE = "server {{ listen 127.0.0.1:{{port}}; location / {{ proxy_pass {url}; {more} }} }}"
TARGET = {"target": "https://example.org/a/page"}
_HOW_TO = Path(__file__).parents[2] / "docs/how-to/run-behind-a-proxy.md"


@pytest.mark.parametrize("host", ["go.example.org", "localhost"])
@pytest.mark.parametrize("more", ["", "proxy_set_header Host $host;"], ids=["bare", "with the client's Host"])
def test_nobody_becomes_administrator_through_a_proxy(processes: Processes, host: str, more: str) -> None:
    url = processes.serve("links")
    with private_proxy(BARE.format(url=url, more=more)) as proxy:
        assert httpx.get(f"{proxy}/v1/links", headers={"Host": host}).status_code == 403
        made = httpx.post(f"{proxy}/v1/links", headers={"Host": host}, json=TARGET)
        assert (made.status_code, made.json()["type"]) == (403, "urn:waypost:loopback-only")
    assert httpx.post(f"{url}/v1/links", json=TARGET).status_code == 201


@pytest.mark.parametrize(
    "env",
    [
        {"WAYPOST_PUBLIC_URL": "https://go.example.org"},
        {"WAYPOST_LISTEN_PROXIES": "127.0.0.1"},
        {"WAYPOST_LISTEN_KEYLESS": "off"},
    ],
    ids=["public address", "proxy on this machine", "switched off"],
)
def test_a_server_that_is_meant_for_others_takes_keys_alone(processes: Processes, env: dict[str, str]) -> None:
    """Such a proxy leaves no trace in what it passes on."""
    url = processes.serve("links", env=env)
    silent = 'proxy_http_version 1.1; proxy_set_header Connection "";'
    with private_proxy(BARE.format(url=url, more=silent)) as proxy:
        for way in (proxy, url):
            assert httpx.post(f"{way}/v1/links", json=TARGET).status_code == 403
        key = processes.json("key", "create", "somebody", "--scope", "links:write")["token"]
        made = httpx.post(f"{proxy}/v1/links", json=TARGET, headers={"Authorization": f"Bearer {key}"})
        assert made.status_code == 201


def test_once_a_proxy_was_seen_nobody_is_taken_for_this_machine(processes: Processes) -> None:
    url = processes.serve("links")
    assert httpx.get(f"{url}/v1/links").status_code == 200
    telling = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
    with private_proxy(BARE.format(url=url, more=telling)) as proxy:
        assert httpx.get(f"{proxy}/v1/links").status_code == 403
    refused = httpx.get(f"{url}/v1/links")
    assert (refused.status_code, "proxy" in refused.json()["detail"]) == (403, True)


def test_the_lines_for_nginx_in_the_documentation_work(processes: Processes) -> None:
    address = "http://go.example.org:8080"
    url = processes.serve("links", env={"WAYPOST_PUBLIC_URL": address, "WAYPOST_LISTEN_PROXIES": "127.0.0.1"})
    lines = _HOW_TO.read_text().partition("```nginx\n")[2].partition("```")[0]
    lines = lines.replace("http://127.0.0.1:8080", url).replace("listen 80;", "listen 127.0.0.1:{port};")
    with private_proxy(lines) as proxy:
        key = processes.json("key", "create", "somebody", "--scope", "links:write")["token"]
        asked = {"Host": "go.example.org", "Authorization": f"Bearer {key}"}
        made = httpx.post(f"{proxy}/v1/links", json=TARGET, headers=asked).json()
        assert made["url"] == f"{address}/{made['phrase']}"
        assert httpx.get(f"{proxy}/{made['phrase']}").headers["location"] == TARGET["target"]
        assert httpx.get(f"{proxy}/v1/links", headers={"Host": "localhost"}).status_code == 403

"""A provider that speaks OCPI 2.1.1, 2.2 and 2.2.1, with or without links and counts."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from support.told_provider import http

TOKEN = "hunter2-token"
VERSIONS = ("2.1.1", "2.2", "2.2.1")


def location(number: int, version: str = "2.2.1", **more: Any) -> dict[str, Any]:
    """One as that version has it."""
    connector: dict[str, Any] = {"id": "1", "standard": "IEC_62196_T2", "format": "SOCKET", "power_type": "AC_3_PHASE"}
    if version == "2.1.1":
        connector |= {"voltage": 230, "amperage": 32}
        whose: dict[str, Any] = {"type": "ON_STREET"}
    else:
        connector |= {"max_voltage": 230, "max_amperage": 32}
        whose = {"country_code": "NL", "party_id": "ABC", "publish": True}
    return {
        "id": f"LOC{number}",
        "name": f"Station {number}",
        "address": f"Straat {number}",
        "city": "Utrecht",
        "postal_code": "3511",
        "country": "NLD",
        "coordinates": {"latitude": f"{52 + number / 1000:.4f}", "longitude": f"{5 + number / 1000:.4f}"},
        "evses": [{"uid": f"{number}-1", "status": "AVAILABLE", "connectors": [connector], "last_updated": UPDATED}],
        "operator": {"name": "Plug & Co"},
        "last_updated": UPDATED,
        **whose,
    } | more


UPDATED = "2026-02-21T10:30:00Z"


@dataclass
class OcpiProvider:
    """Answers requests below /ocpi. `links` and `counts` say which headers it sends, `most` how long its pages are."""

    locations: list[Mapping[str, Any]] = field(default_factory=list)
    links: bool = True
    counts: bool = True
    most: int = 1000
    versions: Sequence[str] = VERSIONS
    status: tuple[int, str] = (1000, "Success")
    encoded: bool | None = None

    def __call__(self, request: str) -> bytes:
        line, *headers = request.split("\r\n")
        asked = urlsplit(line.split(" ")[1])
        host = next(header.split(" ")[1] for header in headers if header.lower().startswith("host:"))
        given = next((header for header in headers if header.lower().startswith("authorization:")), "")
        version = asked.path.split("/")[2] if asked.path.count("/") > 1 else ""
        if not self._is_known(given.partition("Token ")[2], version):
            return self._answer(None, status=401)
        if asked.path == "/ocpi/versions":
            return self._answer([{"version": each, "url": f"http://{host}/ocpi/{each}"} for each in self.versions])
        if version in self.versions and asked.path == f"/ocpi/{version}":
            return self._answer({"version": version, "endpoints": _endpoints(host, version)})
        if version in VERSIONS and asked.path == f"/ocpi/{version}/locations":
            return self._page(host, asked.path, {name: values[0] for name, values in parse_qs(asked.query).items()})
        return self._answer(None, status=404)

    def _is_known(self, token: str, version: str) -> bool:
        encoded = base64.b64encode(TOKEN.encode()).decode()
        if self.encoded is not None:
            return token == (encoded if self.encoded else TOKEN)
        return token in ({TOKEN} if version == "2.1.1" else {encoded} if version in VERSIONS else {TOKEN, encoded})

    def _page(self, host: str, path: str, query: Mapping[str, str]) -> bytes:
        found = [
            each
            for each in self.locations
            if query.get("date_from", "") <= each["last_updated"] < query.get("date_to", "9")
        ]
        offset, limit = int(query.get("offset", 0)), min(int(query.get("limit", 50)), self.most)
        headers = {"X-Total-Count": str(len(found)), "X-Limit": str(limit)} if self.counts else {}
        if self.links and offset + limit < len(found):
            following = urlencode({**query, "offset": offset + limit, "limit": limit})
            headers["Link"] = f'<http://{host}{path}?{following}>; rel="next"'
        return self._answer(found[offset : offset + limit], headers=headers)

    def _answer(self, data: object, *, status: int = 200, headers: dict[str, str] | None = None) -> bytes:
        code, message = self.status
        body = {"data": data, "status_code": code, "status_message": message, "timestamp": UPDATED}
        return http(json.dumps(body).encode(), status=status, headers=headers, keep_alive=True)


def _endpoints(host: str, version: str) -> list[dict[str, str]]:
    base = f"http://{host}/ocpi/{version}"
    if version == "2.1.1":
        return [{"identifier": name, "url": f"{base}/{name}"} for name in ("credentials", "locations")]
    return [
        {"identifier": "locations", "role": "RECEIVER", "url": f"{base}/receiver/locations"},
        {"identifier": "locations", "role": "SENDER", "url": f"{base}/locations"},
    ]

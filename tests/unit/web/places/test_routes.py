"""Places over HTTP, from a generation on the disk."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest
from starlette.types import ASGIApp

from support.asking import assert_problem, get
from support.places import place
from waypost.serving.building.builder import build
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.web.app import Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.places import place_answers

NOW = datetime(2026, 2, 21, tzinfo=UTC)
MOST = 3
PLACES = [place(number, lat=10.0 * number, lon=5.0 * number) for number in range(6)]
ROUTES = ("/v1/places", "/collections/places/items")


def app_over(folder: Path) -> ASGIApp:
    live = LiveGeneration(Shelf(folder))
    live.refresh()
    return make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), places=Places(live, MOST))


@pytest.fixture
def app(tmp_path: Path) -> ASGIApp:
    build(PLACES, tmp_path, now=NOW)
    return app_over(tmp_path)


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def collection(answer: httpx.Response) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/geo+json")
    document = answer.json()
    assert isinstance(document, dict)
    assert document["type"] == "FeatureCollection"
    assert document["numberReturned"] == len(document["features"])
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {feature["properties"]["external_id"] for feature in document["features"]}


@pytest.mark.parametrize("by", [str(PLACES[2].id), str(PLACES[2].id).upper(), PLACES[2].id.hex, "ocm:2", "ocm%3A2"])
def test_a_place_is_found_by_its_id_and_by_the_providers(app: ASGIApp, route: str, by: str) -> None:
    answer = get(app, f"{route}/{by}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/geo+json")
    feature = answer.json()
    assert (feature["type"], feature["id"]) == ("Feature", str(PLACES[2].id))
    assert feature["geometry"] == {"type": "Point", "coordinates": [10.0, 20.0]}
    assert feature["properties"]["external_id"] == "ocm:2"
    assert "record" not in feature["properties"]


@pytest.mark.parametrize("by", ["osm:node/1", "osm:node%2F1"])
def test_an_id_may_have_a_slash_in_it(tmp_path: Path, route: str, by: str) -> None:
    build([msgspec.structs.replace(PLACES[0], external_id="osm:node/1", source="osm")], tmp_path, now=NOW)
    answer = get(app_over(tmp_path), f"{route}/{by}")
    assert answer.json()["properties"]["external_id"] == "osm:node/1"


@pytest.mark.parametrize("external_id", ["osm:a/link", "osm:a/", "osm:a//", "osm:link", "osm:/link/"])
@pytest.mark.parametrize("safe", [":/", ":"], ids=["plain", "escaped"])
def test_an_id_may_end_as_other_routes_do(tmp_path: Path, route: str, external_id: str, safe: str) -> None:
    build([msgspec.structs.replace(PLACES[0], external_id=external_id, source="osm")], tmp_path, now=NOW)
    answer = get(app_over(tmp_path), f"{route}/{quote(external_id, safe=safe)}")
    assert answer.json()["properties"]["external_id"] == external_id


@pytest.mark.parametrize("place", ["link", "a/link", "counts/link"])
def test_a_share_link_is_not_a_place(app: ASGIApp, place: str) -> None:
    assert_problem(get(app, f"/v1/places/{place}"), 404, "unknown-place")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/collections/places/", "/collections/places"),
        ("/v1/places/?limit=1&q=%C5%81", "/v1/places?limit=1&q=%C5%81"),
        ("/v1/places/osm:%C5%81/", "/v1/places/osm%3A%C5%81"),
    ],
)
def test_a_slash_too_many_leads_to_the_path_without_whatever_the_host(app: ASGIApp, path: str, location: str) -> None:
    answer = get(app, path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (307, location)


@pytest.mark.parametrize("path", ["/%2Fevil.example/", "/%2F%2F", "/nothing/here/", "/\\evil.example/"])
def test_a_slash_leads_nowhere_else(app: ASGIApp, path: str) -> None:
    assert_problem(get(app, path), 404, "not-found")


def test_a_page_for_people_is_shorter_than_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_answers, "_MOST_ON_A_PAGE", 2)
    build(PLACES, tmp_path, now=NOW)
    page = get(app_over(tmp_path), "/collections/places/items?f=html&limit=3").text
    assert ("2 of 6 places" in page, "cursor=2" in page) == (True, True)


@pytest.mark.parametrize("unknown", ["ocm:99", "00000000-0000-0000-0000-000000000000", "otter", "%00", "x" * 4000])
def test_an_unknown_place_is_told_as_such(app: ASGIApp, route: str, unknown: str) -> None:
    document = assert_problem(get(app, f"{route}/{unknown}"), 404, "unknown-place")
    assert len(document["detail"]) < 200


def test_a_box_has_the_places_inside_and_on_its_edges(app: ASGIApp, route: str) -> None:
    document = collection(get(app, f"{route}?bbox=5,10,15,30&limit=10"))
    assert names(document) == {"ocm:1", "ocm:2", "ocm:3"}
    assert document["numberMatched"] == 3


def test_a_box_may_cross_the_antimeridian_and_be_empty(app: ASGIApp, route: str) -> None:
    assert collection(get(app, f"{route}?bbox=170,-10,-170,10"))["features"] == []


def test_without_a_box_it_is_the_whole_world_and_a_limit_is_lowered(app: ASGIApp, route: str) -> None:
    for query in ("", "?limit=5", "?limit=1000000000000000000000"):
        document = collection(get(app, f"{route}{query}"))
        assert (document["numberMatched"], document["numberReturned"]) == (6, MOST)
    assert collection(get(app, f"{route}?limit=2"))["numberReturned"] == 2


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5", ""])
def test_a_limit_that_makes_no_sense_names_the_parameter(app: ASGIApp, route: str, limit: str) -> None:
    assert assert_problem(get(app, f"{route}?limit={limit}"), 400, "bad-parameter")["parameter"] == "limit"


@pytest.mark.parametrize(
    "box", ["", "1,2,3", "1,2,3,four", "nan,0,1,1", "0,0,inf,1", "0,10,10,0", "-181,0,0,1", "0,0,1,91", "1,2,3,4,5"]
)
def test_a_box_that_makes_no_sense_names_the_parameter(app: ASGIApp, route: str, box: str) -> None:
    assert assert_problem(get(app, f"{route}?bbox={box}"), 400, "bad-box")["parameter"] == "bbox"


def test_a_box_that_never_ends_names_the_parameter(app: ASGIApp, route: str) -> None:
    answer = get(app, f"{route}?bbox={'1,' * 500}1")
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == "bbox"


@pytest.mark.parametrize("path", ["", "?bbox=0,0,20,20", "/ocm:1"])
def test_who_has_this_generation_already_gets_nothing_again(app: ASGIApp, route: str, path: str) -> None:
    first = get(app, route + path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    again = get(app, route + path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert get(app, route + path, headers={"If-None-Match": '"another"'}).status_code == 200


@pytest.mark.parametrize("form", ["W/{}", '"another", {}', '"another",W/{}', "*"])
def test_a_tag_is_recognised_in_every_form_that_the_header_has(app: ASGIApp, form: str) -> None:
    tag = get(app, "/v1/places").headers["etag"]
    assert get(app, "/v1/places", headers={"If-None-Match": form.format(tag)}).status_code == 304


def test_a_new_generation_has_a_new_tag(app: ASGIApp, tmp_path: Path) -> None:
    before = get(app, "/v1/places").headers["etag"]
    build(PLACES[:-1], tmp_path, now=NOW + timedelta(hours=1))
    assert get(app_over(tmp_path), "/v1/places", headers={"If-None-Match": before}).status_code == 200


@pytest.mark.parametrize("path", ["", "/ocm:1", "/ocm:99", "?limit=0"])
def test_head_says_what_get_would_without_the_body(app: ASGIApp, route: str, path: str) -> None:
    body, head = get(app, route + path), get(app, route + path, "HEAD")
    assert (head.status_code, head.content) == (body.status_code, b"")
    assert head.headers["content-length"] == str(len(body.content))
    assert head.headers["content-type"] == body.headers["content-type"]


@pytest.mark.parametrize("path", ["", "/ocm:1"])
def test_before_a_snapshot_it_is_not_possible_right_now(tmp_path: Path, route: str, path: str) -> None:
    answer = get(app_over(tmp_path / "nowhere"), route + path)
    assert_problem(answer, 503, "no-snapshot")
    assert "nowhere" not in answer.text


def test_places_cannot_be_written(app: ASGIApp, route: str) -> None:
    answer = get(app, route, "POST", json={})
    assert_problem(answer, 405, "http-error")
    assert "GET" in answer.headers["allow"].split(", ")

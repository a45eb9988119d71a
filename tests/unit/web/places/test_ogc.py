"""OGC API Features: the documents around places, pages for people, negotiation, links, times and paging."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.asking import BASE, assert_problem, get
from support.snapshots import shelve, stations
from support.web_server import places_app
from waypost.kernel.clock import from_text
from waypost.web.app import App
from waypost.web.http.accept_headers import wants_html

PLACES = stations(250)
ITEMS = "/collections/places/items"
FORMED = ("/", "/conformance", "/collections", "/collections/places", ITEMS, f"{ITEMS}/sim:7")
PLAIN = ("/collections/places/schema", "/collections/places/queryables", "/tiles/places.json")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder: Path = tmp_path_factory.mktemp("snapshots")
    shelve(folder, PLACES)
    return places_app(folder, most=100)


def links_of(document: dict[str, Any]) -> dict[str, str]:
    return {link["rel"]: link["href"] for link in document["links"]}


def pages(app: App, address: str) -> Iterator[dict[str, Any]]:
    """One after the other, along the links."""
    following: str | None = address
    while following:
        answer = get(app, following.removeprefix(BASE))
        assert answer.status_code == 200, answer.text
        yield answer.json()
        following = links_of(answer.json()).get("next")


def found(app: App, query: str) -> set[str]:
    return {
        feature["properties"]["external_id"] for page in pages(app, f"{ITEMS}?{query}") for feature in page["features"]
    }


def test_the_landing_page_leads_to_everything(app: App) -> None:
    document = get(app, "/").json()
    assert {"self", "alternate", "service-desc", "service-doc", "conformance", "data"} <= set(links_of(document))
    for link in document["links"]:
        answer = get(app, link["href"].removeprefix(BASE))
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] == link["type"].partition(";")[0]


def test_it_says_what_it_conforms_to(app: App) -> None:
    classes = {each.rpartition("/")[2] for each in get(app, "/conformance").json()["conformsTo"]}
    assert classes == {"core", "oas30", "html", "geojson"}


def test_the_collection_is_the_same_in_the_list_and_by_itself(app: App) -> None:
    one = get(app, "/collections/places").json()
    assert get(app, "/collections").json()["collections"] == [one]
    assert (one["id"], one["itemType"]) == ("places", "feature")
    assert links_of(one)["items"].partition("?")[0] == f"{BASE}{ITEMS}"
    for link in one["links"]:
        assert get(app, link["href"].removeprefix(BASE)).status_code == 200


def test_there_is_no_other_collection(app: App) -> None:
    assert_problem(get(app, "/collections/otters"), 404, "not-found")


def test_the_schema_has_every_field_that_a_place_has(app: App) -> None:
    schema = get(app, "/collections/places/schema").json()
    for feature in get(app, f"{ITEMS}?limit=100").json()["features"]:
        assert set(feature["properties"]) <= set(schema["properties"])
        for inner in ("address", "attributes"):
            assert set(feature["properties"][inner]) <= set(schema["properties"][inner]["properties"])


def test_whatever_can_be_filtered_by_is_a_parameter(app: App) -> None:
    queryables = get(app, "/collections/places/queryables").json()["properties"]
    described = get(app, "/openapi.json").json()["paths"][ITEMS]["get"]["parameters"]
    assert set(queryables) - {"geometry"} <= {parameter["name"] for parameter in described}


@pytest.mark.parametrize("path", [*FORMED[:-1], *PLAIN, "/v1/places"])
def test_not_modified_is_promised_where_there_is_a_tag(app: App, path: str) -> None:
    promised = get(app, "/openapi.json").json()["paths"][path]["get"]["responses"]
    assert ("304" in promised) == ("etag" in get(app, path).headers)


@pytest.mark.parametrize("path", FORMED)
def test_each_resource_is_there_for_programs_and_for_people(app: App, path: str) -> None:
    program, person = get(app, path), get(app, path, headers={"Accept": BROWSER})
    assert program.headers["content-type"] in {"application/json", "application/geo+json"}
    assert person.headers["content-type"] == "text/html; charset=utf-8"
    assert program.headers["vary"] == person.headers["vary"] == "Accept, Accept-Encoding"
    for form, like in (("html", person), ("json", program)):
        chosen = get(app, path, params={"f": form}, headers={"Accept": "image/png"})
        assert chosen.headers["content-type"] == like.headers["content-type"]
    assert person.headers.get("etag") != program.headers.get("etag") or "etag" not in program.headers


@pytest.mark.parametrize("path", FORMED)
def test_a_page_loads_nothing_from_elsewhere_and_its_links_lead_somewhere(app: App, path: str) -> None:
    page = get(app, path, params={"f": "html"})
    assert re.findall(r"<(?:script|img|iframe|style)", page.text) == []
    assert re.findall(r'<link rel="stylesheet" href="([^"]+)"', page.text) == ["/-/message.css"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for address in set(re.findall(r'<a href="([^"]+)"', page.text)):
        target = address.replace("&amp;", "&").removeprefix(BASE)
        assert get(app, target).status_code == 200


def test_what_a_place_is_called_cannot_become_part_of_a_page(tmp_path: Path) -> None:
    shelve(tmp_path, stations(3, name="<script>alert(1)</script>"))
    app = places_app(tmp_path)
    for path in (ITEMS, f"{ITEMS}/sim:1"):
        text = get(app, path, params={"f": "html"}).text
        assert "<script>" not in text
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize("path", [*FORMED, *PLAIN, "/v1/places", "/v1/places/sim:7", "/tiles/0/0/0.mvt"])
def test_a_parameter_that_is_not_known_is_refused_everywhere(app: App, path: str) -> None:
    document = assert_problem(get(app, f"{path}?colour=red"), 400, "bad-parameter")
    assert document["parameter"] == "colour"


def test_pages_hold_every_place_once(app: App) -> None:
    got = list(pages(app, f"{ITEMS}?limit=60"))
    assert [page["numberReturned"] for page in got] == [60, 60, 60, 60, 10]
    assert {page["numberMatched"] for page in got} == {250}
    ids = [feature["id"] for page in got for feature in page["features"]]
    assert sorted(ids) == sorted(str(place.id) for place in PLACES)


def test_pages_keep_to_what_was_asked(app: App) -> None:
    assert found(app, "limit=7&country=DE&status=operational") == {
        place.external_id for place in PLACES if place.country == "DE"
    }


def test_the_links_of_a_page_are_those_that_were_asked_for(app: App) -> None:
    document = get(app, f"{ITEMS}?limit=10&q=k%C3%B6ln").json()
    links = links_of(document)
    assert links["self"] == f"{BASE}{ITEMS}?limit=10&q=k%C3%B6ln"
    assert links["alternate"] == f"{BASE}{ITEMS}?limit=10&q=k%C3%B6ln&f=html"
    assert links["next"].startswith(f"{BASE}{ITEMS}?limit=10&q=k%C3%B6ln&generation=")


def test_links_begin_as_the_server_is_known_outside(tmp_path: Path) -> None:
    shelve(tmp_path, PLACES)
    app = places_app(tmp_path, public_url="https://places.example.org")
    assert links_of(get(app, f"{ITEMS}?limit=1").json())["next"].startswith(
        f"https://places.example.org{ITEMS}?limit=1&"
    )


def test_without_a_host_links_are_relative(app: App) -> None:
    answer = get(app, f"{ITEMS}?limit=1", headers={"Host": ""})
    assert links_of(answer.json())["self"] == f"{ITEMS}?limit=1"


def test_an_item_has_its_links_and_is_otherwise_the_place(app: App) -> None:
    item, place = get(app, f"{ITEMS}/sim:7").json(), get(app, "/v1/places/sim:7").json()
    links = links_of(item)
    assert links["self"] == f"{BASE}{ITEMS}/{place['id']}"
    assert links["collection"] == f"{BASE}/collections/places"
    assert item.pop("links")
    assert item == place


MOMENT = datetime(2026, 11, 1, tzinfo=UTC)
DATES = {place.external_id: place.provider_updated_at for place in PLACES if place.provider_updated_at}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-11-01T00:00:00Z/..", {name for name, at in DATES.items() if at >= MOMENT}),
        ("2026-11-01T00:00:00Z/", {name for name, at in DATES.items() if at >= MOMENT}),
        ("../2026-11-01T00:00:00Z", {name for name, at in DATES.items() if at <= MOMENT}),
        ("2026-11-01T01:00:00%2B01:00/..", {name for name, at in DATES.items() if at >= MOMENT}),
        ("2026-10-01/2026-10-31", {name for name, at in DATES.items() if (at.year, at.month) == (2026, 10)}),
        ("2026-11-14", {name for name, at in DATES.items() if at.date().isoformat() == "2026-11-14"}),
        ("2026-11-14T09:15:00Z", {name for name, at in DATES.items() if at == from_text("2026-11-14T09:15:00Z")}),
        ("2030-01-01/..", set()),
    ],
)
def test_times_are_those_of_the_providers_last_change(app: App, given: str, expected: set[str]) -> None:
    assert found(app, f"limit=100&datetime={given}") == expected


@pytest.mark.parametrize(
    "wrong",
    ["", "..", "../..", "/", "now", "2026", "2026-13-01", "2026-11-01T00:00:00", "2026-11-02/2026-11-01", "2026-W01-1"],
)
def test_a_time_that_makes_no_sense_names_the_parameter(app: App, wrong: str) -> None:
    assert assert_problem(get(app, f"{ITEMS}?datetime={wrong}"), 400, "bad-parameter")["parameter"] == "datetime"


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/geo+json, text/html;q=0.9", False),
        ("text/html, application/json", True),
        ("application/json, text/html", False),
        ("application/json;q=0.1, text/html;level=1;q=0.5", True),
        ("text/html;q=0", False),
        ("text/html;q=nonsense", False),
    ],
)
def test_who_asks_for_html_by_name_gets_it(accept: str, *, html: bool) -> None:
    assert wants_html(accept.encode()) is html

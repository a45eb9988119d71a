"""What can be asked of places over HTTP: nearest, text, filters, counts, tiles, generations, encodings and origins."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from support.asking import assert_problem, get
from support.snapshots import shelve, stations
from support.web_server import places_app
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.web.app import App, Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust

PLACES = stations(400)
MAP = "https://map.example.org"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("snapshots")
    shelve(made, PLACES)
    return made


@pytest.fixture(scope="module")
def app(folder: Path) -> App:
    return places_app(folder)


def ask(app: App, query: str) -> dict[str, Any]:
    answer = get(app, f"/v1/places?{query}")
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert isinstance(document, dict)
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {feature["properties"]["external_id"] for feature in document["features"]}


def test_the_nearest_come_first_with_their_distance(app: App) -> None:
    here = PLACES[7]
    document = ask(app, f"near={here.lat},{here.lon}&limit=5")
    assert document["features"][0]["properties"]["external_id"] == here.external_id
    assert document["metres"][0] == 0.0
    assert document["metres"] == sorted(document["metres"])
    assert document["numberMatched"] == len(PLACES)


def test_a_radius_bounds_the_distance_and_pages_go_on(app: App) -> None:
    all_of_it = ask(app, "near=0,0&radius=5000000&limit=1000")
    assert max(all_of_it["metres"]) <= 5_000_000
    got, following = [], "near=0,0&radius=5000000&limit=10"
    while following:
        document = ask(app, following)
        got += [feature["id"] for feature in document["features"]]
        links = {link["rel"]: link["href"] for link in document["links"]}
        following = links.get("next", "").partition("?")[2]
    assert got == [feature["id"] for feature in all_of_it["features"]]


@pytest.mark.parametrize("query", ["q=koln", "q=K%C3%96LN", "q=k", "q=kol+stat"])
def test_text_is_found_by_beginnings_and_without_accents(app: App, query: str) -> None:
    assert names(ask(app, f"{query}&limit=1000")) == {place.external_id for place in PLACES if place.address.town}


@pytest.mark.parametrize(
    ("query", "meets"),
    [
        ("country=DE", lambda place: place.country == "DE"),
        ("country=de&country=FR", lambda place: place.country in {"DE", "FR"}),
        ("country=DE,FR", lambda place: place.country in {"DE", "FR"}),
        ("country=XX", lambda _: False),
        ("operator=%C5%81%C3%B3d%C5%BA+Power", lambda place: place.operator == "Łódź Power"),
        ("category=charging", lambda _: True),
        ("status=closed,planned", lambda _: False),
        ("source=sim&status=operational", lambda _: True),
        ("power_from=150", lambda _: True),
        ("power_from=150.5", lambda _: False),
        ("country=FR&operator=%C5%81%C3%B3d%C5%BA+Power", lambda place: place.country == "FR" and place.operator),
    ],
)
def test_filters_keep_what_meets_all_of_them(app: App, query: str, meets: Any) -> None:
    expected = {place.external_id for place in PLACES if meets(place)}
    document = ask(app, f"{query}&limit=1000")
    assert names(document) == expected
    assert document["numberMatched"] == len(expected)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("near=91,0", "near"),
        ("near=1", "near"),
        ("near=a,b", "near"),
        ("near=0,0&radius=-1", "radius"),
        ("near=0,0&radius=nan", "radius"),
        ("near=0,0&radius=1e9", "radius"),
        ("radius=100", "radius"),
        ("q=", "q"),
        ("q=%21%3F", "q"),
        (f"q={'a' * 201}", "q"),
        ("country=DEU", "country"),
        ("country=", "country"),
        ("&".join(["country=DE"] * 51), "country"),
        (f"country={','.join(['DE'] * 51)}", "country"),
        ("status=open", "status"),
        ("operator=", "operator"),
        ("operator=%00", "operator"),
        ("power_from=strong", "power_from"),
        ("limit=1&limit=2", "limit"),
        ("limit=%31x", "limit"),
        (f"limit={'9' * 150}x", "limit"),
        ("cursor=5", "cursor"),
        ("cursor=-1", "cursor"),
        ("generation=yesterday", "generation"),
        ("bbox=1,2,3,4&bbox=1,2,3,4", "bbox"),
        ("q=%ff", "q"),
        ("%71=", "q"),
        ("Limit=1", "Limit"),
        ("f=json", "f"),
        ("%F0%9F%A6%A6=1", "🦦"),
    ],
)
def test_what_cannot_be_asked_names_the_parameter(app: App, query: str, parameter: str) -> None:
    answer = get(app, f"/v1/places?{query}")
    assert answer.status_code == 400
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == parameter


def test_a_misspelt_parameter_is_told_what_it_may_have_been(app: App) -> None:
    assert "Did you mean country?" in get(app, "/v1/places?contry=DE").json()["detail"]


def test_words_beyond_ten_are_refused(app: App) -> None:
    answer = get(app, f"/v1/places?q={'+'.join(f'w{at}' for at in range(11))}")
    assert assert_problem(answer, 400, "bad-query")["parameter"] == "q"


def test_counts_are_by_field_and_within_filters(app: App) -> None:
    document = get(app, "/v1/places/counts?by=country").json()
    by_country = {code: sum(place.country == code for place in PLACES) for code in ("DE", "FR")}
    assert {each["value"]: each["count"] for each in document["counts"]} == by_country
    within = get(app, "/v1/places/counts?by=country&country=FR&limit=1").json()
    assert within == {"by": "country", "values": 1, "counts": [{"value": "FR", "count": by_country["FR"]}]}


@pytest.mark.parametrize("query", ["", "by=name", "by=country&by=status"])
def test_counts_need_a_field_that_has_them(app: App, query: str) -> None:
    assert assert_problem(get(app, f"/v1/places/counts?{query}"), 400, "bad-parameter")["parameter"] == "by"


def test_a_tile_is_a_vector_tile(app: App) -> None:
    answer = get(app, "/tiles/0/0/0.mvt")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/vnd.mapbox-vector-tile")
    assert b"places" in answer.content
    about = get(app, "/tiles/places.json").json()
    assert about["tiles"] == ["http://127.0.0.1:8080/tiles/{z}/{x}/{y}.mvt"]
    assert [layer["id"] for layer in about["vector_layers"]] == ["places"]


@pytest.mark.parametrize("tile", ["1/2/0", "1/0/2", "25/0/0", "0/0/-1", "x/0/0", "99999999999999999999999/0/0"])
def test_a_tile_that_is_none_is_refused(app: App, tile: str) -> None:
    answer = get(app, f"/tiles/{tile}.mvt")
    assert answer.status_code == 400
    assert answer.json()["parameter"] in {"z", "x", "y"}


def test_one_can_go_on_in_an_older_generation_until_it_is_gone(tmp_path: Path) -> None:
    older = shelve(tmp_path, PLACES)
    live = LiveGeneration(Shelf(tmp_path))
    live.refresh()
    app = make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), places=Places(live, 1000))
    first = ask(app, "limit=100")
    newer = shelve(tmp_path, PLACES[:50], hours=1)
    live.refresh()
    assert ask(app, "limit=100")["generation"] == newer
    second = ask(app, f"limit=1000&cursor=100&generation={older}")
    assert (second["generation"], len(names(first) | names(second))) == (older, 400)
    # A server that has never had it open finds it on the disk, as long as it is there.
    fresh = places_app(tmp_path)
    assert ask(fresh, f"generation={older}")["numberMatched"] == 400
    Shelf(tmp_path).prune(1, grace=0)
    gone = get(places_app(tmp_path), f"/v1/places?generation={older}")
    assert_problem(gone, 410, "generation-gone")


def test_only_a_few_older_generations_stay_open(tmp_path: Path) -> None:
    live = LiveGeneration(Shelf(tmp_path))
    made = []
    for hour in range(5):
        made.append(shelve(tmp_path, PLACES[: hour + 1], hours=hour))
        live.refresh()
    assert [name for name in made if live.kept(name)] == made[-3:]
    live.keep(made[0])
    assert [name for name in made if live.kept(name)] == [made[0], *made[-2:]]


def test_what_names_its_generation_may_be_kept_for_good(app: App) -> None:
    name = ask(app, "limit=1")["generation"]
    assert get(app, "/v1/places?limit=1").headers["cache-control"] == "no-cache"
    assert "immutable" in get(app, f"/v1/places?limit=1&generation={name}").headers["cache-control"]


def raw(app: App, path: str, accepted: str) -> httpx.Response:
    return get(app, path, headers={"Accept-Encoding": accepted})


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("br", None),
        ("identity", None),
        ("*", None),
        ("gzip;q=much", None),
    ],
)
def test_a_large_answer_is_compressed_as_the_client_likes_it(app: App, accepted: str, encoding: str | None) -> None:
    plain, answer = raw(app, "/v1/places", "identity"), raw(app, "/v1/places", accepted)
    assert answer.headers.get("content-encoding") == encoding
    assert answer.content == plain.content
    tag = plain.headers["etag"].strip('"')
    assert answer.headers["etag"] == (f'"{tag}-{encoding}"' if encoding else f'"{tag}"')
    assert answer.headers["vary"] == "Accept-Encoding"
    again = get(app, "/v1/places", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.headers["etag"]) == (304, answer.headers["etag"])


def test_a_small_answer_is_sent_as_it_is(app: App) -> None:
    assert "content-encoding" not in raw(app, "/v1/places/sim:1", "gzip, zstd").headers


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_very_large_answer_is_compressed_on_its_way(tmp_path: Path, encoding: str) -> None:
    shelve(tmp_path, stations(2500))
    app = places_app(tmp_path)
    plain = raw(app, "/v1/places?limit=2500", "identity")
    answer = raw(app, "/v1/places?limit=2500", encoding)
    assert len(plain.content) > 512 * 1024
    assert answer.headers["content-encoding"] == encoding
    assert "content-length" not in answer.headers
    assert answer.content == plain.content


def allowed(answer: httpx.Response) -> Any:
    return answer.headers.get("access-control-allow-origin")


@pytest.mark.parametrize("path", ["/", "/v1/places", "/v1/places/sim:1", "/collections", "/tiles/0/0/0.mvt"])
def test_pages_of_other_sites_read_places_only_where_that_is_allowed(folder: Path, path: str) -> None:
    closed, some, every = places_app(folder), places_app(folder, cors=(MAP,)), places_app(folder, cors=("*",))
    assert allowed(get(closed, path, headers={"Origin": MAP})) is None
    assert allowed(get(some, path, headers={"Origin": MAP})) == MAP
    assert allowed(get(some, path, headers={"Origin": "https://elsewhere.example.org"})) is None
    assert "Origin" in get(some, path).headers["vary"]
    assert allowed(get(every, path, headers={"Origin": MAP})) == "*"


def test_a_problem_can_be_read_from_another_site_too(folder: Path) -> None:
    assert allowed(get(places_app(folder, cors=("*",)), "/v1/places?limit=0")) == "*"


def test_a_browser_that_asks_beforehand_is_told(folder: Path) -> None:
    asks = {"Origin": MAP, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "If-None-Match"}
    told = get(places_app(folder, cors=(MAP,)), "/v1/places", "OPTIONS", headers=asks)
    assert (told.status_code, allowed(told)) == (204, MAP)
    assert told.headers["access-control-allow-methods"] == "GET, HEAD"
    assert get(places_app(folder), "/v1/places", "OPTIONS", headers=asks).status_code == 405


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/-/message.css", "/v1/links/gently-golden-otter"])
def test_nothing_but_places_is_opened_to_other_sites(folder: Path, path: str) -> None:
    assert allowed(get(places_app(folder, cors=("*",)), path, headers={"Origin": MAP})) is None

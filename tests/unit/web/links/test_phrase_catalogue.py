"""What phrases can be made of, and the share links of places."""

import asyncio
from pathlib import Path

import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, Service, link_service
from waypost.places.place import read_id
from waypost.sharing.phrases.vocabulary import shipped

pytestmark = pytest.mark.anyio


async def test_languages_have_names_themes_and_examples(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        answer = await links.get("/v1/languages", peer=BEYOND)
        found = {each["code"]: each for each in answer.json()["languages"]}
        assert {"de", "en", "pl"} <= set(found)
        assert (found["pl"]["name"], found["pl"]["own_name"]) == ("Polish", "polski")
        for code, language in found.items():
            assert language["themes"] == list(shipped().themes(code))
            assert len(language["example"].split("-")) == 3


async def test_themes_are_those_of_a_language_each_with_an_example(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"links.language": "de"}) as links:
        usual, english = (await links.get("/v1/themes")).json(), (await links.get("/v1/themes?language=en")).json()
        assert (usual["language"], english["language"]) == ("de", "en")
        assert [theme["name"] for theme in english["themes"]] == list(shipped().themes("en"))
        assert all(theme["example"] for theme in english["themes"])
        assert_problem(await links.get("/v1/themes?language=xx"), 400, "unknown-language")
        assert_problem(await links.get("/v1/themes?language=../en"), 400, "unknown-language")


async def test_formats_show_the_same_words(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        found = {each["name"]: each["example"] for each in (await links.get("/v1/formats")).json()["formats"]}
        assert list(found) == ["kebab", "pascal", "snake", "spaced"]
        assert found["snake"] == found["kebab"].replace("-", "_")
        assert_problem(await links.get("/v1/formats?x=1"), 400, "bad-parameter")


async def share(links: Service, place: str = "sim:7", **more: object) -> dict[str, object]:
    answer = await links.ask("POST", f"/v1/places/{place}/link", **more)  # type: ignore[arg-type]
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json())


async def test_a_place_has_one_share_link_for_each_caller(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        ada, bob = await links.key(), await links.key()
        place = str(read_id("sim:7"))
        made = await share(links, key=ada)
        assert (made["place_id"], made["target"]) == (place, f"/collections/places/items/{place}")
        assert (await share(links, place, key=ada))["id"] == made["id"]
        assert (await share(links, key=bob))["id"] != made["id"]
        followed = await links.get(f"/{made['phrase']}")
        assert followed.headers["location"] == made["target"]
        assert (await links.get(str(made["target"]))).status_code == 200


async def test_a_share_link_survives_that_the_site_moves(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await share(links, headers={"Host": "127.0.0.1:9714"})
        again = await share(links, headers={"Host": "127.0.0.1:9715"})
        assert again["id"] == made["id"]
        path = f"/collections/places/items/{made['place_id']}"
        followed = await links.get(f"/{made['phrase']}", headers={"Host": "127.0.0.1:9715"})
        assert followed.headers["location"] == path
        assert f"{path} on this site" in (await links.get(f"/{made['phrase']}+")).text
    public = {"public_url": "https://way.example.org/"}
    async with link_service(tmp_path, public) as links:
        followed = await links.get(f"/{made['phrase']}")
        assert followed.headers["location"] == f"https://way.example.org{path}"
        assert f"https://way.example.org{path}" in (await links.get(f"/{made['phrase']}+")).text


async def test_the_host_of_a_request_is_not_kept_in_a_share_link(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await share(links, key=await links.key(), headers={"Host": "10.0.0.1"})
        kept = await links.stores.links.find(str(made["phrase"]))
        assert kept
        assert kept.target == f"/collections/places/items/{made['place_id']}"


async def test_a_share_link_can_have_a_password(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await share(links)
        await links.change(str(made["phrase"]), password="sesame")
        page = await links.get(f"/{made['phrase']}")
        assert "form-action 'self' http: https:" in page.headers["content-security-policy"]
        assert f"{made['place_id']}" not in page.text


async def test_who_asks_for_it_many_times_at_once_gets_one_link(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await asyncio.gather(*(share(links) for _ in range(8)))
        assert len({link["id"] for link in made}) == 1


async def test_a_share_link_that_was_deleted_is_made_anew(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await share(links)
        await links.ask("DELETE", f"/v1/links/{made['phrase']}")
        assert (await share(links))["id"] != made["id"]


async def test_the_title_of_a_share_link_can_be_changed_and_its_target_stays(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=10) as links:
        made = await share(links)
        changed = await links.change(str(made["phrase"]), title="here", target=made["target"])
        assert (changed.status_code, changed.json()["target"]) == (200, made["target"])


async def test_a_place_that_is_not_there_has_no_link(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=3) as links:
        assert_problem(await links.ask("POST", "/v1/places/sim:99/link"), 404, "unknown-place")


async def test_a_share_link_takes_no_wishes(tmp_path: Path) -> None:
    async with link_service(tmp_path, places=3) as links:
        assert_problem(await links.ask("POST", "/v1/places/sim:1//link"), 404, "unknown-place")
        assert_problem(await links.ask("POST", "/v1/places/sim:1/link/link"), 404, "unknown-place")
        answer = await links.ask("POST", "/v1/places/sim:1/link", json={"target": "https://example.org/"})
        assert_problem(answer, 400, "bad-parameter")
        assert (await links.ask("POST", "/v1/places/sim:1/link", json={})).status_code == 201


async def test_no_other_target_on_our_own_host_is_allowed(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"public_url": "https://go.example.org"}, places=3) as links:
        made = await share(links, "sim:1")
        for target in (made["target"], f"https://go.example.org{made['target']}", "//example.org/", "/otter"):
            assert_problem(await links.create(target), 400, "target-refused")

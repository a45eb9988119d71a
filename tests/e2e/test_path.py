"""The whole path as separate processes over HTTP: provider, import, snapshot, places, link, redirect, visit."""

from functools import partial

import httpx

from support.processes import Processes, eventually

COUNTRIES = ["DE", "FR", "NL"]


def provider_ids(url: str, key: str) -> dict[str, set[int]]:
    answers = {
        code: httpx.get(f"{url}/v3/poi", params={"countrycode": code, "maxresults": 10000}, headers={"X-API-Key": key})
        for code in COUNTRIES
    }
    return {code: {record["ID"] for record in answer.json()} for code, answer in answers.items()}


def serves(url: str, count: int) -> bool:
    return bool(httpx.get(f"{url}/v1/places").json().get("numberMatched") == count)


def test_from_the_provider_to_a_counted_visit(processes: Processes) -> None:
    provider = processes.simulator("--places", "1500", "--seed", "3", "--key", "sesame")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_OCM_KEY": "sesame", "WAYPOST_BUDGET": "100/s"}
    expected = provider_ids(provider, "sesame")
    count = sum(len(ids) for ids in expected.values())
    assert count > 100

    report = processes.json("import", "run", "--source", "ocm", "--country", "DE,FR,NL", env=env)
    assert (report["added"], report["shards"]) == (count, {"done": 3})
    again = processes.json("import", "run", "--source", "ocm", "--country", "DE,FR,NL", env=env)
    assert (again["added"], again["changed"], again["requests"]) == (0, 0, 0)

    manifest = processes.json("snapshot", "build")
    assert manifest["count"] == count

    places = processes.serve("places", "--host", "127.0.0.2")
    assert httpx.get(f"{places}/readyz").status_code == 200
    world = httpx.get(f"{places}/v1/places", params={"limit": 10000}).json()
    assert (world["numberMatched"], world["numberReturned"]) == (count, count)
    served = {feature["properties"]["external_id"] for feature in world["features"]}
    assert served == {f"ocm:{number}" for ids in expected.values() for number in ids}
    some = world["features"][0]
    assert httpx.get(f"{places}/v1/places/{some['id']}").json() == some
    item = httpx.get(f"{places}/collections/places/items/{some['properties']['external_id']}").json()
    assert item.pop("links")
    assert item == some
    germany = httpx.get(f"{places}/collections/places/items", params={"bbox": "5.8,47.2,15.1,55.1", "limit": 10000})
    inside = {
        feature["id"]
        for feature in world["features"]
        if 5.8 <= feature["properties"]["lon"] <= 15.1 and 47.2 <= feature["properties"]["lat"] <= 55.1
    }
    assert {feature["id"] for feature in germany.json()["features"]} == inside

    # Links lead to private addresses only where they may, and never to the one that they are served from.
    private = {"WAYPOST_LINKS_ALLOW_PRIVATE": "on"}
    links = processes.serve("links", env=private)
    created = processes.run("link", "create", f"{places}/v1/places/{some['id']}", env=private)
    url = created.stdout.strip()
    assert url.startswith(links + "/")
    phrase = url.rpartition("/")[2]
    answer = httpx.get(url)
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "no-store")
    assert httpx.get(answer.headers["location"]).json() == some
    assert httpx.head(url).status_code == 302
    eventually(lambda: processes.json("link", "show", phrase)["visits"] == 1, "the visit is counted")
    shown = processes.run("link", "show", phrase.upper().replace("-", " "))
    assert "visits    1" in shown.stdout

    def metrics() -> str:
        return httpx.get(f"{links}/metrics").text

    eventually(lambda: 'waypost_redirects_total{outcome="followed"} 1.0' in metrics(), "the redirect is counted")
    assert 'waypost_redirects_total{outcome="preview"} 1.0' in metrics()
    assert "waypost_visits_spooled_total 1.0" in metrics()
    assert "sesame" not in metrics()


def test_the_simulated_provider_is_the_same_for_the_same_seed(processes: Processes) -> None:
    one, two = (
        processes.simulator("--places", "300", "--seed", "5"),
        processes.simulator("--places", "300", "--seed", "5"),
    )
    other = processes.simulator("--places", "300", "--seed", "6")
    question = "/v3/poi?maxresults=300&sortby=id_asc"
    assert httpx.get(one + question).content == httpx.get(two + question).content
    assert httpx.get(one + question).content != httpx.get(other + question).content


def test_a_server_moves_to_a_new_snapshot_by_itself(processes: Processes) -> None:
    provider = processes.simulator("--places", "400")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    places = processes.serve("places")
    assert httpx.get(f"{places}/readyz").status_code == 503
    assert "snapshot build" not in httpx.get(f"{places}/livez").text
    early = httpx.get(f"{places}/v1/places")
    assert (early.status_code, early.headers["content-type"]) == (503, "application/problem+json")
    for code in ("DE", "FR"):
        assert processes.run("import", "run", "--country", code, env=env).returncode == 0
        count = processes.json("snapshot", "build")["count"]
        eventually(partial(serves, places, count), "it serves the new one")


def test_many_processes_may_start_on_a_new_folder_at_once(processes: Processes) -> None:
    started = [processes.start("link", "create", f"https://example.org/{number}") for number in range(8)]
    assert [running.wait() for running in started] == [0] * 8
    urls = [running.wait_for(r"^http://\S+")[0] for running in started]
    assert len(set(urls)) == 8

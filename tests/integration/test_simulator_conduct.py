"""The simulated provider over real connections: how it refuses, fails, waits, changes, and what it remembers of it."""

import asyncio
import gzip
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.processes import Processes, eventually
from waypost.roles.kit.http_server import HttpServer, address, listen
from waypost.scaling.ratelimit.limits import parse_limits
from waypost.simulator.app import make_app
from waypost.simulator.changes import ProviderChanges
from waypost.simulator.conduct import Conduct, Faults
from waypost.simulator.generate import generate
from waypost.simulator.journal import Journal, open_log

PAGE = {"sortby": "id_asc", "maxresults": "50"}


@contextmanager
def provider(
    places: int = 200, *, key: str | None = None, log: Path | None = None, **conduct: Any
) -> Iterator[httpx.Client]:
    """A provider in a thread of its own, and a client with its address."""
    made = generate(places, seed=3)
    changes = ProviderChanges(made, 3)
    opened = open_log(log) if log else None
    app = make_app(made, key=key, conduct=Conduct(**conduct), changes=changes, journal=Journal(opened))
    server = HttpServer(app)

    async def serve() -> None:
        changing = asyncio.create_task(changes.run())
        await server.serve(sockets=[sock])
        changing.cancel()

    with listen("127.0.0.1", 0, moves_on=False) as sock:
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        try:
            with httpx.Client(base_url=address(sock), timeout=30) as client:
                yield client
        finally:
            server.stop()
            thread.join()
            if opened:
                opened.close()


def always(fault: str, seed: int = 3) -> Faults:
    return Faults({fault: 1.0}, seed)


def poi(client: httpx.Client, **parameters: str) -> httpx.Response:
    return client.get("/v3/poi", params={**PAGE, **parameters})


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def seen(client: httpx.Client) -> dict[str, Any]:
    answer: dict[str, Any] = client.get("/-/seen").json()
    return answer


@pytest.mark.parametrize(("fault", "status"), [("429", 429), ("429-bare", 429), ("500", 500), ("503", 503)])
def test_a_plain_fault_is_a_status(fault: str, status: int) -> None:
    with provider(faults=always(fault)) as client:
        answer = poi(client)
        assert answer.status_code == status
        assert answer.headers.get("retry-after") == ("1" if fault == "429" else None)
        assert seen(client)["seen"]["by_fault"] == {fault: 1}


def test_a_cut_connection_ends_before_the_answer_or_amid_its_headers() -> None:
    with provider(faults=always("cut")) as client:
        for _ in range(8):
            with pytest.raises(httpx.RemoteProtocolError):
                poi(client)
        assert seen(client)["seen"]["by_status"] == {"no answer": 8}


def test_half_an_answer_promises_all_of_it() -> None:
    with provider() as good, provider(faults=always("half")) as client:
        whole = poi(good)
        got: list[bytes] = []
        with client.stream("GET", "/v3/poi", params=PAGE, headers={"accept-encoding": "identity"}) as answer:
            assert answer.status_code == 200
            promised = int(answer.headers["content-length"])
            with pytest.raises(httpx.RemoteProtocolError):
                got.extend(answer.iter_raw())
        assert promised == len(whole.content)
        assert b"".join(got) == whole.content[: promised // 2]


def test_garbage_arrives_in_full_and_is_no_json() -> None:
    with provider(faults=always("garbage")) as client:
        answers = [client.get("/v3/poi", headers={"accept-encoding": "identity"}) for _ in range(12)]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 2
        for answer in answers:
            with pytest.raises(json.JSONDecodeError):
                answer.json()


def test_a_slow_answer_is_whole_in_the_end() -> None:
    with provider() as good, provider(faults=always("slow")) as client:
        assert poi(client).json() == poi(good).json()


def test_the_same_seed_gives_the_same_faults_to_the_same_requests() -> None:
    statuses = []
    for _ in range(2):
        with provider(faults=Faults({"429": 0.2, "500": 0.2, "503": 0.2}, seed=8)) as client:
            statuses.append([poi(client).status_code for _ in range(60)])
    assert statuses[0] == statuses[1]
    assert set(statuses[0]) == {200, 429, 500, 503}


def test_only_the_provider_itself_has_faults() -> None:
    with provider(faults=always("500")) as client:
        assert client.get("/livez").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/-/seen").status_code == 200
        assert client.get("/v3/referencedata").status_code == 500


def test_above_the_rate_a_key_is_refused_and_told_when_to_come_again() -> None:
    with provider(limits=parse_limits("2/h")) as client:
        for key in ("one", "two"):
            answers = [poi(client, key=key) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 200, 429]
            assert 1700 < int(answers[2].headers["retry-after"]) <= 1800
        assert [poi(client).status_code for _ in range(3)] == [200, 200, 429]
        assert client.get("/v3/poi", headers={"X-API-Key": "one"}).status_code == 429


def test_a_ban_is_for_everything_that_this_key_asks() -> None:
    with provider(ban_after=3) as client:
        assert [poi(client, key="one").status_code for _ in range(5)] == [200, 200, 200, 403, 403]
        assert client.get("/v3/referencedata", headers={"X-API-Key": "one"}).status_code == 403
        assert poi(client, key="two").status_code == 200


def test_no_answer_has_more_records_than_the_provider_likes() -> None:
    with provider(truncate=7) as client:
        assert [len(poi(client, maxresults=asked).json()) for asked in ("3", "7", "100", "")] == [3, 7, 7, 7]


def test_a_wait_before_the_answer_leaves_it_as_it_is() -> None:
    with provider() as good, provider(latency=0.01) as client:
        assert poi(client).content == poi(good).content
        assert seen(client)["seen"]["last"][0]["seconds"] >= 0.01


def test_large_answers_are_compressed_for_those_who_accept_it() -> None:
    with provider() as client:
        with client.stream("GET", "/v3/poi", params=PAGE, headers={"accept-encoding": "gzip"}) as packed:
            raw = b"".join(packed.iter_raw())
        plain = client.get("/v3/poi", params=PAGE, headers={"accept-encoding": "identity"})
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert gzip.decompress(raw) == plain.content
        assert len(raw) < len(plain.content) / 2
        refused = client.get("/v3/poi", params=PAGE, headers={"accept-encoding": "br, gzip;q=0"})
        small = client.get("/v3/poi", params={"greaterthanid": "9" * 18}, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in refused.headers
        assert (small.content, small.headers.get("content-encoding")) == (b"[]", None)


def test_the_log_has_a_line_for_every_request_and_never_a_key(tmp_path: Path) -> None:
    log = tmp_path / "requests.ndjson"
    with provider(log=log, key="sesame") as client:
        poi(client, key="sesame")
        client.get("/v3/poi", params={"KEY": "wrong", "countrycode": "DE"})
        client.get("/v3/referencedata", headers={"X-API-Key": "sesame", "accept-encoding": "identity"})
        client.get("/nowhere")
        client.get("/-/seen")
        client.get("/livez")
    lines = lines_of(log)
    assert "sesame" not in log.read_text()
    assert [line["status"] for line in lines] == [200, 403, 200, 404]
    assert [line["number"] for line in lines] == [1, 2, 3, 4]
    assert [line["path"] for line in lines] == ["/v3/poi", "/v3/poi", "/v3/referencedata", "/nowhere"]
    assert lines[1]["query"] == "countrycode=DE"
    hashed = hashlib.sha256(b"sesame").hexdigest()[:12]
    assert [line["key"] == hashed for line in lines] == [True, False, True, False]
    assert lines[3]["key"] is None
    assert lines[2]["bytes"] > 1000
    assert [line["monotonic"] for line in lines] == sorted(line["monotonic"] for line in lines)
    assert all(line["seconds"] > 0 and line["in_flight"] == 1 and line["method"] == "GET" for line in lines)


def test_a_log_is_appended_to(tmp_path: Path) -> None:
    log = tmp_path / "requests.ndjson"
    for _ in range(2):
        with provider(log=log, faults=always("cut")) as client, pytest.raises(httpx.RemoteProtocolError):
            poi(client)
    assert [(line["status"], line["fault"]) for line in lines_of(log)] == [(None, "cut")] * 2


def test_changes_start_and_stop_when_told_and_the_export_is_what_answers_say() -> None:
    with provider(places=300) as client:
        before = client.get("/-/export").text
        started = client.post("/-/changes", json={"edits": 400, "deletions": 50, "additions": 50})
        assert started.json()["rates"] == {"edits": 400, "deletions": 50, "additions": 50}
        eventually(lambda: all(count > 20 for count in seen(client)["made"].values()), "twenty changes of each kind")
        stopped = client.post("/-/changes", json={"edits": 0, "deletions": 0, "additions": 0}).json()
        exported = client.get("/-/export").text
        assert client.get("/-/export").text == exported != before
        assert seen(client)["made"] == stopped["made"]
        records = [json.loads(line) for line in exported.splitlines()]
        assert records == poi(client, maxresults="10000").json()
        assert len(records) == seen(client)["places"]
        assert [record["ID"] for record in records] == sorted(record["ID"] for record in records)


def test_rates_that_are_not_named_stay_as_they_are() -> None:
    with provider() as client:
        client.post("/-/changes", json={"additions": 0.001})
        assert client.post("/-/changes", json={"edits": 0.5}).json()["rates"] == {
            "edits": 0.5,
            "deletions": 0.0,
            "additions": 0.001,
        }


@pytest.mark.parametrize("body", ["", "[]", '{"edits": -1}', '{"edits": "many"}', '{"edit": 1}', '{"edits": 1e9}'])
def test_rates_that_cannot_be_read_are_refused_and_change_nothing(body: str) -> None:
    with provider() as client:
        answer = client.post("/-/changes", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert '{"edits": 50' in answer.text
        assert seen(client)["rates"] == {"edits": 0.0, "deletions": 0.0, "additions": 0.0}


def test_a_form_of_some_web_page_cannot_set_rates() -> None:
    with provider() as client:
        assert client.post("/-/changes", content='{"edits": 1}').status_code == 415
        assert client.post("/-/changes", data={"edits": "1"}).status_code == 415


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:8090"},
        {"Host": "a,b"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_no_other_web_page_sees_or_changes_what_it_does(headers: dict[str, str]) -> None:
    """Also one whose name suddenly points to this machine."""
    with provider() as client:
        assert client.post("/-/changes", json={"edits": 50}, headers=headers).status_code == 403
        for path in ("/-/", "/-/seen", "/-/export"):
            assert client.get(path, headers=headers).status_code == 403
        assert seen(client)["rates"]["edits"] == 0
        assert client.get("/livez", headers=headers).status_code == 200


def test_its_own_page_sets_rates() -> None:
    with provider() as client:
        own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        assert client.post("/-/changes", json={"edits": 0.5}, headers=own).status_code == 200


def test_what_it_saw_is_counted() -> None:
    with provider(key="sesame") as client:
        poi(client, key="sesame")
        poi(client)
        poi(client, key="<b>wrong</b>")
        shown = seen(client)["seen"]
        assert (shown["requests"], shown["in_flight"]) == (3, 0)
        assert shown["by_status"] == {"200": 1, "403": 2}
        assert shown["by_key"]["no key"] == 1
        assert len(shown["by_key"]) == 3
        assert len(shown["per_second"]) == 60
        assert sum(shown["per_second"]) == 3
        assert [visit["number"] for visit in shown["last"]] == [3, 2, 1]
        assert "wrong" not in json.dumps(shown)


def test_the_page_needs_nothing_from_elsewhere_and_its_script_is_the_only_one_allowed() -> None:
    with provider() as client:
        answer = client.get("/-/")
        assert answer.headers["content-type"].startswith("text/html")
        assert not re.search(r"(src|href)=|https?://|innerHTML|@import|url\(", answer.text)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; connect-src 'self'; script-src 'sha256-")
        assert "unsafe" not in policy


def test_the_command_takes_it_all(processes: Processes) -> None:
    url = processes.simulator(
        *("--places", "500", "--seed", "5", "--rate", "1000/s,100000/h", "--ban-after", "5000", "--latency", "1ms"),
        *("--faults", "503=1", "--truncate", "10", "--log", "requests.ndjson"),
        *("--edits", "200/s", "--deletions", "20/s", "--additions", "20/s"),
    )
    with httpx.Client(base_url=url) as client:
        assert client.get("/v3/poi").status_code == 503
        eventually(lambda: all(seen(client)["made"].values()), "changes of each kind")
    assert [line["fault"] for line in lines_of(processes.folder / "requests.ndjson")] == ["503"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--faults", "501=0.1"], "there is no fault '501'"),
        (["--faults", "429=2"], "from 0 to 1"),
        (["--rate", "fast"], "5/s"),
        (["--edits", "1/s,2/h"], "more than one rate"),
        (["--latency", "long"], "250ms"),
        (["--truncate", "0"], "0 is not in the range"),
        (["--ban-after", "0"], "0 is not in the range"),
        (["--log", "nowhere/requests.ndjson"], "nowhere/requests.ndjson: it cannot be written: No such file"),
    ],
)
def test_asked_wrongly(processes: Processes, arguments: list[str], hint: str) -> None:
    done = processes.run("simulator", "run", "--port", "0", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr

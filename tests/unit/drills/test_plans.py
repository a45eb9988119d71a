"""The drills' own decisions: what is planned certainly happens, and what is judged can be found wanting."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from drills.importing import results
from drills.importing.checks.events import check_removals
from drills.importing.checks.keeping_on import check_comeback, check_pace
from drills.importing.checks.tried import check_tried, tried
from drills.importing.mishaps import Mishap
from drills.importing.pace import Allowance, Idleness, Sample
from drills.importing.plan import BUDGETS, FAULTS, IMPORTS, Plan
from drills.importing.provider import Absence
from drills.importing.requests import Request
from drills.importing.stations import CALM, COUNTRIES, Stations
from drills.importing.verdicts import Outcome, Verdict
from drills.importing.view import HeldJob, Question
from drills.series import figure, seeds_of, table
from hypothesis import given
from hypothesis import strategies as st

from waypost.places.events import PlacesChanged, Versioned, places_changed
from waypost.scaling.event_outbox import Event
from waypost.simulator.conduct import parse_placed

SEEDS = st.integers(0, 2**31)
PAGE = "countrycode=DE&greaterthanid=7"


def request(at: float, fault: str | None = None, query: str = PAGE, status: int | None = 200) -> Request:
    return Request(1, at, "/v3/poi", query, status, fault, 0.0)


@given(SEEDS, st.integers(1000, 300_000))
def test_each_fault_is_placed_among_requests_that_the_first_import_needs(seed: int, places: int) -> None:
    plan = Plan(places=places, seed=seed)
    placed = parse_placed(plan.faults_at)
    assert sorted(placed.values()) == sorted(FAULTS)
    assert max(placed) < places / plan.page_size


@given(SEEDS)
def test_a_seed_decides_when_the_store_and_the_provider_go_away(seed: int) -> None:
    plan = Plan(seed=seed)
    assert plan.restart == Plan(seed=seed).restart
    assert plan.restart.number in range(IMPORTS)
    assert plan.absence.number in range(1, IMPORTS)
    assert 0 < plan.restart.share < 1 > plan.absence.share > 0


def test_seeds_put_the_budget_in_each_of_its_stores() -> None:
    assert {Plan(seed=seed).budget_in for seed in range(20)} == set(BUDGETS)
    assert {Plan(seed=seed, budget="store").budget_in for seed in range(20)} == {"store"}


def test_workers_have_the_default_attempts() -> None:
    assert "WAYPOST_JOBS_MAX_ATTEMPTS" not in Plan().settings("http://provider")


def test_a_provider_of_full_size_is_away_for_a_minute() -> None:
    assert [Plan(places=places).away_seconds for places in (1500, 20_000, 60_000, 200_000)] == [3, 20, 60, 60]


def all_tried() -> Mapping[str, int]:
    held = [HeldJob("w", "ocm/country:DE/full:2026-02-21", 1, Question("DE", 7))]
    return tried(
        [*(request(number, fault) for number, fault in enumerate(FAULTS)), request(50.0)],
        [request(1.0, query="since=2026", status=304)],
        [
            Mishap("kill", "w", 1.0, 1.0),
            Mishap("stop", "w", 1.0, 5.0, held, overtaken=1),
            Mishap("restart", "all", 1.0, 2.0, held),
        ],
        [Absence(20.0, 40.0, 9)],
        {"edits": 1, "deletions": 1, "additions": 1},
        {"edits": 1, "deletions": 1, "additions": 1, "undone edits": 1},
    )


def test_a_drill_in_which_all_happened_has_been_run() -> None:
    assert check_tried(all_tried(), Plan()).kept


@pytest.mark.parametrize("kind", all_tried())
def test_a_drill_in_which_a_planned_kind_never_happened_says_so_and_fails(kind: str) -> None:
    verdict = check_tried({**all_tried(), kind: 0}, Plan())
    assert not verdict.kept
    assert any(kind in example and "has not been run" in example for example in verdict.examples)


def test_an_absence_that_nobody_noticed_is_none() -> None:
    found = tried([request(1.0)], [], [], [Absence(20.0, 40.0, 9)], {}, {})
    assert not found["absence of the provider with work to do"]


def test_refusals_leave_nothing_then_half_then_more() -> None:
    allowed = Allowance([request(10.0, "429-bare", status=429), request(16.0)])
    assert [allowed.at(time) for time in (9.0, 12.0, 15.0, 17.5, 20.0, 30.0)] == pytest.approx([1, 0, 0.5, 0.75, 1, 1])


def test_refusals_in_a_row_pause_for_longer() -> None:
    allowed = Allowance([request(10.0, "429-bare", status=429), request(15.5, "429-bare", status=429)])
    assert allowed.at(25.0) == 0
    assert allowed.at(25.5) == pytest.approx((0.5 + 0.05) / 2)


def pace_of(*parts: tuple[int, int, float], callers: int = 32) -> Verdict:
    """Of parts of so many seconds, each with so many requests a second and this share of the machine idle."""
    requests, samples, began = list[Request](), list[Sample](), 0
    for length, came, idle in parts:
        for second in range(began, began + length):
            requests += [request(second + part / came) for part in range(came)]
            samples += [Sample(second + quarter / 4, callers, 8, idle) for quarter in range(4)]
        began += length
    return check_pace(requests, samples, 40, [])


def test_a_fleet_that_uses_its_pace_is_content() -> None:
    assert pace_of((20, 38, 0.5)).kept


def test_a_starved_fleet_is_seen() -> None:
    verdict = pace_of((20, 4, 0.5))
    assert not verdict.kept
    assert verdict.figures["used"] == pytest.approx(0.1)


def test_seconds_of_a_busy_machine_are_left_out_where_enough_others_are_left() -> None:
    assert pace_of((20, 38, 0.5), (20, 10, 0.02)).kept
    assert not pace_of((20, 10, 0.5), (20, 38, 0.02)).kept
    assert pace_of((2, 10, 0.5), (38, 38, 0.02)).kept
    assert not pace_of((2, 38, 0.5), (38, 10, 0.02)).kept


def test_few_who_are_there_need_not_use_all() -> None:
    assert pace_of((20, 16, 0.5), callers=8).kept
    assert not pace_of((20, 4, 0.5), callers=8).kept
    assert not pace_of((20, 1, 0.5), callers=7).figures["seconds"]


def test_penalties_and_absences_are_no_time_of_the_fleet() -> None:
    refused = [request(1.0, "429-bare", status=429)]
    samples = [Sample(quarter / 4, 32, 8, 0.5) for quarter in range(8, 20)]
    for verdict in (
        check_pace(refused, samples, 40, []),
        check_pace([], samples, 40, [(0.0, 9.0)]),
    ):
        assert not verdict.figures["seconds"]
        assert not verdict.kept, "a fleet that could not be judged has not been tried"


def test_idleness_is_a_share() -> None:
    idleness = Idleness()
    assert all(0 <= idleness.since() <= 1 for _ in range(3))


def test_a_provider_that_nobody_asks_again_is_seen() -> None:
    absence = Absence(10.0, 70.0, 9)
    assert check_comeback([request(5.0), request(80.0)], [absence]).kept
    assert not check_comeback([request(5.0), request(170.0)], [absence]).kept
    assert not check_comeback([request(5.0)], [absence]).kept


def told(version: int, kind: str, place: str) -> Event:
    kinds = {each: [Versioned(place, version)] if each == kind else [] for each in ("added", "changed", "removed")}
    return places_changed(PlacesChanged(place.partition(":")[0], "a shard", **kinds), datetime(2026, 2, 21, tzinfo=UTC))


@pytest.mark.parametrize(
    ("place", "is_kept"),
    [("stations:S1", False), ("ocm:9", False), ("ocm:10", True)],
    ids=["other", "old id", "new id"],
)
def test_a_place_that_comes_back_was_never_gone_unless_its_id_was_free_again(place: str, *, is_kept: bool) -> None:
    events = [told(1, "added", place), told(2, "removed", place), told(3, "added", place)]
    assert check_removals(events, [Absence(1.0, 2.0, highest_id=9)]).kept == is_kept
    assert check_removals(events[:2], []).kept


def test_stations_that_change_for_a_moment_are_as_they_were_when_all_is_settled() -> None:
    found = Stations(places=1000, seed=3)
    calm = {key: each for key, each in found.records().items() if each["country"] in CALM}
    for _ in range(200):
        found.change()
    found.settle()
    after = found.records()
    assert {key: each for key, each in after.items() if each["country"] in CALM} == calm
    assert found.made["undone edits"] > 0 < found.made["deletions"]
    assert {each["country"] for each in after.values()} == set(COUNTRIES)


def test_an_answer_that_is_known_is_not_sent_again() -> None:
    found = Stations(places=1000, seed=3)
    ask = f"GET /stations?country={CALM[0]}&offset=0&limit=5 HTTP/1.1\r\n"
    head, _, body = found.answer(ask).partition(b"\r\n\r\n")
    [etag] = [line.partition(b": ")[2].decode() for line in head.splitlines() if line.startswith(b"ETag")]
    assert body
    assert found.answer(f"{ask}If-None-Match: {etag}\r\n").startswith(b"HTTP/1.1 304 ")
    assert [each.status for each in found.requests] == [200, 304]


def test_seeds_are_random_or_from_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEEDS", raising=False)
    assert seeds_of(7) == [7]
    monkeypatch.setenv("SEEDS", "3")
    assert seeds_of(7) == [7, 8, 9]
    assert len(set(seeds_of(None))) == 3


OUTCOMES = [
    Outcome("postgres", 7, [Verdict("all is well", kept=True, found="", figures={"places": 60_000})], 61.2),
    Outcome("postgres", 8, [Verdict("it comes to its end", kept=False, found="")], 300.0),
]


def test_a_table_names_each_seed_and_what_it_broke() -> None:
    assert table(OUTCOMES, [figure("places", "is well", "places")]).splitlines()[2:] == [
        "| postgres | 7 | 61 | 60,000 | all kept |",
        "| postgres | 8 | 300 |  | BROKEN: it comes to its end |",
    ]


def test_results_replace_those_of_the_same_store_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "RESULTS.md"
    page.write_text(results.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(results, "PAGE", page)
    for _ in range(2):
        results.write_results(60_000, OUTCOMES)
    written = page.read_text(encoding="utf-8")
    assert written.count("| postgres | 8 |") == 1
    assert written.count("<!-- end -->") == results.PAGE.read_text(encoding="utf-8").count("<!-- end -->") == 6

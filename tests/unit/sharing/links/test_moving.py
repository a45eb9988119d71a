"""Links move here from files: with their phrases and dates, once, and with a reason for each that cannot."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.link_service import Service, link_service
from waypost.bootstrap.sharing import link_operations
from waypost.kernel.clock import utc_now
from waypost.sharing.links.exporting import FileFormat
from waypost.sharing.links.exporting import export_links as export_pages
from waypost.sharing.links.importing import read_export
from waypost.sharing.links.moving import LinkImportReport, import_links
from waypost.sharing.links.rows import BadImport, read_file
from waypost.sharing.links.store import Wanted

pytestmark = pytest.mark.anyio

TARGET = "https://example.org/page"
SHLINK = (
    "createdAt,title,shortUrl,domain,shortCode,longUrl,tags,visits\n"
    f'2024-05-01T08:30:00+00:00,"A, page",https://s.example/otter,,otter,{TARGET},a|b,7\n'
)


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path / "data") as opened:
        yield opened


async def move(links: Service, text: str, *, dry_run: bool = False) -> LinkImportReport:
    file = links.settings.storage.folder / "links.txt"
    file.write_text(text, encoding="utf-8")
    _, lines = read_export(read_file(file), utc_now())
    words = links.parts.vocabularies
    return await import_links(links.parts.author, words, lines, lambda _count: None, dry_run=dry_run)


async def export(links: Service, form: FileFormat) -> str:
    operations = await link_operations(links.settings, links.stores)
    return "".join([part async for part in export_pages(operations.pages(Wanted()), form)])


async def test_a_moved_link_has_its_phrase_and_its_date(links: Service) -> None:
    report = await move(links, SHLINK)
    assert (report.read, report.made, report.refused) == (1, 1, [])
    made = (await links.get("/v1/links/otter")).json()
    assert (made["target"], made["title"], made["tags"]) == (TARGET, "A, page", ["a", "b"])
    assert datetime.fromisoformat(made["created_at"]) == datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    assert (await links.get("/otter")).headers["location"] == TARGET


async def test_importing_twice_equals_importing_once(links: Service) -> None:
    first, again = await move(links, SHLINK), await move(links, SHLINK)
    assert (first.made, again.made, again.there, again.refused) == (1, 0, 1, [])


async def test_each_refused_line_is_told_and_the_others_are_made(links: Service) -> None:
    await links.make(phrase="heron")
    rows = [
        f"{TARGET},otter",
        f"{TARGET},api",
        "javascript:alert(1),badger",
        f"{TARGET},Heron",
        f"{TARGET}/2,OTTER",
        f"{TARGET},",
        ",magpie",
    ]
    text = "target,phrase\n" + "\n".join(rows)
    tried = await move(links, text, dry_run=True)
    report = await move(links, text)
    assert tried == report
    assert (report.read, report.made) == (7, 2)
    assert [(each.line, each.slug) for each in report.refused if each.slug != "bad-import"] == [
        (3, "phrase-refused"),
        (4, "target-refused"),
        (5, "phrase-taken"),
        (6, "phrase-taken"),
    ]
    assert [each.line for each in report.refused if each.slug == "bad-import"] == [8]


async def test_a_dry_run_keeps_nothing_and_tells_the_same(links: Service) -> None:
    text = "target,phrase\n" + "\n".join(f"{TARGET},party-{number:05}" for number in range(2500))
    doubled = f"{text}\n{TARGET}/other,party-00007\n"
    tried = await move(links, doubled, dry_run=True)
    assert (await links.get("/v1/links")).json()["links"] == []
    assert tried == await move(links, doubled)
    assert (tried.made, len(tried.refused)) == (2500, 1)


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_what_is_exported_can_be_imported_elsewhere(links: Service, tmp_path: Path, form: Any) -> None:
    await links.make(phrase="otter", title='=cmd|"calc"!A1', tags=["a", "b"], max_visits=3, forward_query=True)
    await links.make(phrase="Łódź 2026", expires_at="2040-01-01T00:00:00Z")
    await links.make()
    await links.make(language="pl", theme="animals", format="pascal")
    exported = await export(links, form)
    async with link_service(tmp_path / "other") as other:
        report = await move(other, exported)
        assert (report.made, report.refused) == (4, [])
        for document in (await links.get("/v1/links")).json()["links"]:
            same = (await other.get(f"/v1/links/{document['phrase']}")).json()
            for name in ("target", "title", "tags", "created_at", "expires_at", "max_visits", "forward_query"):
                assert same[name] == document[name]
            for name in ("language", "theme", "format"):
                assert same[name] == document[name]


@pytest.mark.parametrize(
    ("given", "kept"),
    [(("xx", "animals"), (None, None)), (("en", "nonsense"), ("en", None)), (("", "animals"), (None, None))],
)
async def test_a_language_or_theme_that_is_unknown_here_is_left_out(links: Service, given: Any, kept: Any) -> None:
    report = await move(links, f"target,phrase,language,theme\n{TARGET},otter,{','.join(given)}\n")
    made = (await links.get("/v1/links/otter")).json()
    assert (report.made, made["language"], made["theme"]) == (1, *kept)


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_phrase_in_a_known_language_that_is_taken_is_never_drawn_anew(links: Service, *, dry_run: bool) -> None:
    await links.make(phrase="otter")
    report = await move(links, f"target,phrase,language\n{TARGET}/other,otter,en\n", dry_run=dry_run)
    assert (report.made, [(each.phrase, each.slug) for each in report.refused]) == (0, [("otter", "phrase-taken")])


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_phrase_that_cannot_be_drawn_is_in_the_way_of_no_other_line(links: Service, *, dry_run: bool) -> None:
    rows = [f"{TARGET},xx,", f"{TARGET},en,nonsense", f"{TARGET},en,"]
    report = await move(links, "target,language,theme\n" + "\n".join(rows), dry_run=dry_run)
    assert [(each.line, each.slug) for each in report.refused] == [(2, "unknown-language"), (3, "unknown-theme")]
    assert report.made == 1


async def test_each_name_of_a_link_leads_to_its_target(links: Service) -> None:
    text = f'bitlink,long_url,custom_bitlinks\nbit.ly/3xYz,{TARGET},"bit.ly/spring,bit.ly/ab"\n'
    report = await move(links, text)
    assert (report.read, report.made, [(each.line, each.phrase) for each in report.refused]) == (3, 2, [(2, "ab")])
    for name in ("3xYz", "spring"):
        assert (await links.get(f"/{name}")).headers["location"] == TARGET


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_the_share_link_of_a_place_leads_to_that_place_wherever_it_is_imported(tmp_path: Path, form: Any) -> None:
    async with link_service(tmp_path / "here", places=3) as links:
        made = (await links.ask("POST", "/v1/places/sim:1/link")).json()
        text = await export(links, form)
    async with link_service(tmp_path / "there", {"public_url": "https://way.example.org"}, places=3) as links:
        assert (await move(links, text)).refused == []
        moved = (await links.get(f"/v1/links/{made['phrase']}")).json()
        assert (moved["target"], moved["place_id"]) == (made["target"], made["place_id"])
        followed = await links.get(f"/{made['phrase']}")
        assert followed.headers["location"] == f"https://way.example.org{made['target']}"


@pytest.mark.parametrize(
    ("target", "place_id"),
    [("/otter", "1"), ("//example.org/", "1"), ("/collections/places/items/1/../../x", "1/../../x")],
)
async def test_no_other_page_of_our_own_can_be_imported(links: Service, target: str, place_id: str) -> None:
    [refused] = (await move(links, f"target,phrase,place_id\n{target},otter,{place_id}\n")).refused
    assert refused.slug == "target-refused"


async def test_pages_of_an_export_have_one_head(links: Service) -> None:
    await links.send_lines(*[{"target": TARGET}] * 1500)
    exported = await export(links, "csv")
    head, *rows = exported.splitlines()
    assert (head.startswith("id,phrase,"), len(rows)) == (True, 1500)
    assert head not in rows


async def test_a_protected_link_is_not_moved_without_its_password(links: Service, tmp_path: Path) -> None:
    await links.make(phrase="otter", password="hunter2")
    exported = await export(links, "ndjson")
    assert "argon2" not in exported
    async with link_service(tmp_path / "other") as other:
        [refused] = (await move(other, exported)).refused
        assert (refused.slug, refused.phrase) == ("bad-import", "otter")


async def test_a_password_of_a_plain_table_protects_the_link(links: Service) -> None:
    await move(links, f"target,phrase,password\n{TARGET},otter,hunter2\n")
    assert (await links.get("/v1/links/otter")).json()["protected"] is True


async def test_a_date_to_come_is_not_when_a_link_was_made(links: Service) -> None:
    await move(links, f"target,phrase,created\n{TARGET},otter,2199-01-01\n")
    made = (await links.get("/v1/links/otter")).json()["created_at"]
    assert datetime.fromisoformat(made) <= utc_now()


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "links.bin"
    file.write_bytes(b"\xff\xfe\0\0")
    with pytest.raises(BadImport):
        read_file(file)

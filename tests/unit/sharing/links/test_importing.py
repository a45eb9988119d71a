"""Links come over from other shorteners with all that fits, and what does not fit is told by its line."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.links import NOON, a_link
from waypost.sharing.links.document import path_of, show_link
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.exporting import csv_rows, ndjson_rows
from waypost.sharing.links.importing import read_export
from waypost.sharing.links.rows import BadImport

BASE = "https://go.example.org"


def drafts(text: str, origin: str) -> list[Draft]:
    found, lines = read_export(text, NOON)
    assert found == origin
    return [line.draft for line in lines if line.draft]


def errors(text: str) -> dict[int, str]:
    return {line.number: str(line.error) for line in read_export(text, NOON)[1] if line.error}


SHLINK_CSV = """\
createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits
2024-05-01T10:00:00+02:00,,abc12,https://s.example/abc12,https://example.org/1,"A title, quoted",one|two,7
2024-05-02T10:00:00+02:00,s.example,my-party,https://s.example/my-party,https://example.org/2,,,0
"""
SHLINK_JSON = """\
{"shortUrls": {"data": [
  {"shortCode": "abc12", "shortUrl": "https://s.example/abc12", "longUrl": "https://example.org/1",
   "dateCreated": "2024-05-01T10:00:00+02:00", "tags": ["one", "two"], "title": "A title", "forwardQuery": true,
   "meta": {"validSince": null, "validUntil": "2027-01-01T00:00:00+01:00", "maxVisits": 10}, "domain": null},
  {"shortCode": "soon", "longUrl": "https://example.org/2", "tags": [],
   "meta": {"validSince": "2030-01-01T00:00:00Z", "validUntil": null, "maxVisits": null}}
], "pagination": {"currentPage": 1}}}
"""
YOURLS_CSV = """\
keyword;url;title;timestamp;ip;clicks
ozh;https://example.org/1;Ozh's blog;2024-05-01 10:00:00;192.0.2.1;12
"""
YOURLS_JSON = """\
{"links": {"link_1": {"shorturl": "http://sho.rt/ozh", "url": "https://example.org/1", "title": "Ozh",
  "timestamp": "2024-05-01 10:00:00", "ip": "192.0.2.1", "clicks": "12"},
 "link_2": {"shorturl": "http://sho.rt/two", "url": "https://example.org/2", "title": "", "clicks": "0"}},
 "stats": {"total_links": "2"}, "statusCode": "200", "message": "success"}
"""
BITLY_CSV = """\
Date Created,Title,Bitlink,Long URL,Tags,Custom Bitlinks
2024-05-01,Spring,https://bit.ly/3xYzAbc,https://example.org/1,"one,two",
2024-05-02,Summer,bit.ly/3AbCdEf,https://example.org/2,,https://bit.ly/summer-sale
"""
BITLY_JSON = """\
{"links": [{"created_at": "2024-05-01T00:00:00+0000", "id": "bit.ly/3xYzAbc", "link": "https://bit.ly/3xYzAbc",
  "custom_bitlinks": ["http://bit.ly/spring"], "long_url": "https://example.org/1", "title": "Spring",
  "archived": false, "tags": ["one"]}]}
"""
KUTT_JSON = """\
{"limit": 10, "skip": 0, "total": 3, "data": [
  {"address": "abc", "target": "https://example.org/1", "description": "A page", "link": "https://kutt.it/abc",
   "password": false, "banned": false, "expire_in": "2027-01-01T00:00:00.000Z", "visit_count": 3, "id": "0f1"},
  {"address": "shut", "target": "https://example.org/2", "password": true, "banned": false},
  {"address": "gone", "target": "https://example.org/3", "password": false, "banned": true}]}
"""
KUTT_CSV = """\
ADDRESS,Target,description,password,banned,created_at
abc,https://example.org/1,A page,false,false,2024-05-01T00:00:00.000Z
"""


def test_shlink() -> None:
    one, two = drafts(SHLINK_CSV, "shlink")
    assert one == Draft(target="https://example.org/1", phrase="abc12", title="A title, quoted", tags=("one", "two"))
    assert two == Draft(target="https://example.org/2", phrase="my-party")
    [three] = drafts(SHLINK_JSON, "shlink")
    assert (three.phrase, three.tags, three.title) == ("abc12", ("one", "two"), "A title")
    assert (three.max_visits, three.forward_query) == (10, True)
    assert three.expires_at == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert errors(SHLINK_JSON) == {2: "this link leads somewhere only later; import it then"}


def test_yourls() -> None:
    assert drafts(YOURLS_CSV, "yourls") == [Draft(target="https://example.org/1", phrase="ozh", title="Ozh's blog")]
    assert drafts(YOURLS_JSON, "yourls") == [
        Draft(target="https://example.org/1", phrase="ozh", title="Ozh"),
        Draft(target="https://example.org/2", phrase="two"),
    ]


def test_bitly() -> None:
    assert drafts(BITLY_CSV, "bitly") == [
        Draft(target="https://example.org/1", phrase="3xYzAbc", title="Spring", tags=("one", "two")),
        Draft(target="https://example.org/2", phrase="summer-sale", title="Summer"),
        Draft(target="https://example.org/2", phrase="3AbCdEf", title="Summer"),
    ]
    assert drafts(BITLY_JSON, "bitly") == [
        Draft(target="https://example.org/1", phrase="spring", title="Spring", tags=("one",)),
        Draft(target="https://example.org/1", phrase="3xYzAbc", title="Spring", tags=("one",)),
    ]


MANY_NAMES_CSV = """\
bitlink,long_url,custom_bitlinks
bit.ly/3xYz,https://example.org/1,"bit.ly/spring|https://go.example/May, bit.ly/3xYz"
"""
MANY_NAMES_JSON = """\
[{"link": "https://bit.ly/3xYz", "long_url": "https://example.org/1",
  "custom_bitlinks": ["https://bit.ly/spring", "http://go.example/May", "https://go.example/spring", null]}]
"""


@pytest.mark.parametrize(("text", "number"), [(MANY_NAMES_CSV, 2), (MANY_NAMES_JSON, 1)])
def test_each_name_of_a_bitly_link_becomes_a_link_once(text: str, number: int) -> None:
    found = [(line.number, line.draft.phrase, line.draft.target) for line in read_export(text, NOON)[1] if line.draft]
    assert found == [(number, name, "https://example.org/1") for name in ("spring", "May", "3xYz")]


def test_an_address_that_is_none_is_in_the_way_of_no_other_name() -> None:
    text = "bitlink,long_url,custom_bitlinks\nbit.ly/3xYz,https://example.org/1,http://[bit.ly/spring"
    assert [draft.phrase for draft in drafts(text, "bitly")] == ["http://[bit.ly/spring", "3xYz"]


def test_kutt() -> None:
    [one] = drafts(KUTT_JSON, "kutt")
    assert (one.phrase, one.target, one.title) == ("abc", "https://example.org/1", "A page")
    assert one.expires_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert [*errors(KUTT_JSON)] == [2, 3]
    assert drafts(KUTT_CSV, "kutt") == [Draft(target="https://example.org/1", phrase="abc", title="A page")]


def test_plain_csv() -> None:
    text = "\N{ZERO WIDTH NO-BREAK SPACE}Phrase\tTARGET\ttags\tmax_visits\texpires_at\tpassword\tlanguage\r\n"
    text += "\thttps://example.org/1\ta,b\t7\t2027-01-01T00:00:00Z\tsecret\tpl\r\n"
    text += "mine\thttps://example.org/2\t\t\t\t\t\r\n"
    assert drafts(text, "csv") == [
        Draft(
            target="https://example.org/1",
            tags=("a", "b"),
            max_visits=7,
            expires_at=datetime(2027, 1, 1, tzinfo=UTC),
            password="secret",
            language="pl",
        ),
        Draft(target="https://example.org/2", phrase="mine"),
    ]
    assert drafts("url\nhttps://example.org/1", "csv") == [Draft(target="https://example.org/1")]


def test_columns_may_stand_in_any_order_and_case() -> None:
    text = "TAGS,Long_URL,Short Code\n,https://example.org/1,abc12\n"
    assert drafts(text, "shlink") == [Draft(target="https://example.org/1", phrase="abc12")]


def test_bad_lines_are_told_by_their_numbers_and_the_others_still_come() -> None:
    text = (
        "target,phrase,max_visits,expires_at,format\n"  # 1
        "https://example.org/1,one,,,\n"
        ",two,,,\n"  # 3
        "https://example.org/3,three,many,,\n"
        "https://example.org/4,four,,soon,\n"  # 5
        "https://example.org/5,five,,,,,extra\n"
        '"https://example.org/6\nand more",six,,,\n'  # 7 and 8
        "https://example.org/7,seven,,,curly\n"
        "\n"
        'https://example.org/8,"eig"ht,,,\n'  # 11
        "https://example.org/9,nine,,,\n"
        'https://example.org/10,"never closed,,,\n'  # 13
        "https://example.org/11,eleven,,,\n"
    )
    lines = list(read_export(text, NOON)[1])
    assert [line.number for line in lines if line.draft] == [2, 7, 12]
    assert [line.number for line in lines if line.error] == [3, 4, 5, 6, 9, 11, 13]
    reasons = errors(text)
    assert reasons[3] == "there is no target in this line"
    assert "'many' is not a number" in reasons[4]
    assert "'soon' is not a time" in reasons[5]
    assert "more cells" in reasons[6]
    assert "'curly' is not a format" in reasons[9]
    assert "quote" in reasons[13]


@pytest.mark.parametrize("nothing", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+02:00", "0000-00-00 00:00:00"])
def test_a_zero_time_says_nothing(nothing: str) -> None:
    [line] = read_export(f"target,created_at,expires_at\nhttps://example.org/1,{nothing},{nothing}\n", NOON)[1]
    assert (line.created_at, line.draft) == (None, Draft(target="https://example.org/1"))


@pytest.mark.parametrize("column", ["created_at", "expires_at"])
@pytest.mark.parametrize("moment", ["0150-01-01", "1899-12-31T23:59:59Z", "9001-01-01T00:00:00Z", "9999-12-31"])
def test_a_time_that_no_store_could_keep_is_refused_by_its_name(column: str, moment: str) -> None:
    [reason] = errors(f"target,{column}\nhttps://example.org/1,{moment}\n").values()
    assert reason.startswith(f"'{moment}' is out of bounds: the year is from 1900 to 9000")


def test_a_line_that_is_refused_names_its_link() -> None:
    lines = [
        *read_export(KUTT_JSON, NOON)[1],
        *read_export("keyword,url,timestamp\nozh,https://a.example,soon", NOON)[1],
    ]
    assert [line.phrase for line in lines if line.error] == ["shut", "gone", "ozh"]


def test_bad_lines_of_json_are_told_by_their_numbers_too() -> None:
    text = '{"target": "https://example.org/1"}\n{"target": \n\n[]\n{"target": "https://example.org/2"}\n'
    lines = list(read_export(text, NOON)[1])
    assert [(line.number, line.draft is not None) for line in lines] == [(1, True), (2, False), (4, False), (5, True)]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "target\n", "[]", "{}", "{", "name,colour\nada,red\n", '{"data": []}', "[1, 2]", '"text"', "nonsense"],
)
def test_what_is_no_file_of_links_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(BadImport):
        list(read_export(text, NOON)[1])


@given(st.text(max_size=200))
def test_whatever_a_file_holds_it_gives_lines_or_one_reason(text: str) -> None:
    for head in ("", "target,phrase\n", "keyword,url\n", '{"links": [', "[", '{"target": "'):
        try:
            lines = list(read_export(head + text, NOON)[1])
        except BadImport:
            continue
        assert all((line.draft is None) is not (line.error is None) for line in lines)


# Out, and in again


LINKS = [
    a_link("gently-golden-otter", 1, title="=HYPERLINK(1)", tags=("one", "two"), max_visits=3, forward_query=True),
    a_link("Łódź 2026", 2, title="'quoted', \"twice\"", expires_at=datetime(2030, 1, 1, tzinfo=UTC), language=None),
    a_link("plain-otter", 3, title="-1+1", format="snake", theme="animals"),
]
VIEWS = [show_link(link, BASE, visits=number) for number, link in enumerate(LINKS)]


@pytest.mark.parametrize("written", ["".join(csv_rows(VIEWS)), b"".join(ndjson_rows(VIEWS)).decode()])
def test_what_was_exported_can_be_imported_again(written: str) -> None:
    back = drafts(written, "csv")
    for link, draft in zip(LINKS, back, strict=True):
        for name in ("phrase", "target", "title", "tags", "max_visits", "expires_at", "forward_query", "format"):
            assert getattr(draft, name) == getattr(link, name)
        assert (draft.language, draft.theme) == (link.language, link.theme)


def test_no_cell_of_an_export_is_run_by_a_spreadsheet() -> None:
    text = "".join(csv_rows(VIEWS))
    assert "'=HYPERLINK(1)" in text
    assert ",'-1+1," in text


def test_a_link_with_a_password_or_one_that_is_disabled_does_not_come_back_open() -> None:
    shut = [a_link(password="hash"), a_link("other-otter", 2, disabled=True), a_link("third-otter", 3)]
    text = "".join(csv_rows(show_link(link, BASE, visits=0) for link in shut))
    assert "hash" not in text
    assert [*errors(text)] == [2, 3]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=50))
@example("'=1+1")
def test_a_title_survives_a_file_of_either_kind(title: str) -> None:
    title = title.strip()
    views = [show_link(a_link(title=title), BASE, visits=0)]
    for rows in ("".join(csv_rows(views)), b"".join(ndjson_rows(views)).decode()):
        assert drafts(rows, "csv")[0].title == title


# How a link looks


@pytest.mark.parametrize(
    ("phrase", "path"),
    [
        ("gently-golden-otter", "gently-golden-otter"),
        ("GentlyGoldenOtter", "GentlyGoldenOtter"),
        ("gently golden otter", "gently-golden-otter"),
        ("wyraźnie złota żaba", "wyraznie-zlota-zaba"),
        ("Łódź_2026", "lodz-2026"),
        ("über-straße", "uber-strasse"),
    ],
)
def test_an_address_needs_no_percent_signs(phrase: str, path: str) -> None:
    assert path_of(phrase) == path
    assert show_link(a_link(phrase), f"{BASE}/", visits=0).url == f"{BASE}/{path}"


def test_a_view_says_that_there_is_a_password_and_never_which() -> None:
    shown = show_link(a_link(password="$argon2id$"), BASE, visits=3)
    assert (shown.protected, shown.visits) == (True, 3)
    assert "argon2" not in repr(shown)

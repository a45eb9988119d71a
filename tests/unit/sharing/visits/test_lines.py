"""Lines of the spool that are put together from parts say what the whole visit would have said."""

from datetime import UTC, date, datetime, timedelta

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.lines import VisitLines, day_of, read_line
from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer, ShownByBrowser, read_headers


class SameKey(DayKeys):
    def __init__(self) -> None:
        pass

    def of(self, day: date) -> bytes:
        return day.isoformat().encode()


class Somewhere:
    def country(self, address: str) -> str:
        return "DE" if address.startswith("2") else ""


OBSERVER = Observer(SameKey(), Somewhere())
TEXT = st.text(max_size=30)
SHOWN = st.builds(
    ShownByBrowser, agent=TEXT, referrer_host=TEXT, referrer_path=TEXT, language=TEXT, is_private=st.booleans()
)
MOMENTS = st.floats(0, 4e9)


@given(shown=SHOWN, at=MOMENTS, later=st.floats(0, 86_400), address=st.ip_addresses().map(str), link_id=TEXT)
def test_a_line_is_the_observers_visit(
    shown: ShownByBrowser, at: float, later: float, address: str, link_id: str
) -> None:
    lines = VisitLines(OBSERVER)
    start, end = day_of(at)
    assert start <= at < end
    moment = min(start + later, end - 1e-3)
    line = lines.line(msgspec.json.encode(link_id)[1:-1], moment, lines.ending(at, address, shown))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    visit = msgspec.json.decode(line, type=Visit)
    whole = OBSERVER.visit(link_id, datetime.fromtimestamp(moment, UTC), address, shown)
    assert abs(visit.at - whole.at) <= timedelta(microseconds=2)
    assert visit == msgspec.structs.replace(whole, id=visit.id, at=visit.at)


@given(headers=st.dictionaries(st.sampled_from([b"user-agent", b"referer", b"accept-language"]), st.binary()))
@example(headers={b"user-agent": rb"\u0000"})
def test_whatever_a_browser_sends_its_line_can_be_read_and_has_no_nul(headers: dict[bytes, bytes]) -> None:
    lines = VisitLines(OBSERVER)
    line = lines.line(b"link", 1e9, lines.ending(1e9, "203.0.113.7", read_headers(headers)))
    visit = read_line(line)
    assert visit.link_id == "link"
    assert "\0" not in "".join(map(str, msgspec.structs.astuple(visit)))


@given(moments=st.lists(MOMENTS, min_size=2, max_size=20))
def test_no_two_lines_have_the_same_id(moments: list[float]) -> None:
    makers = VisitLines(OBSERVER), VisitLines(OBSERVER)
    ending = makers[0].ending(0.0, "", ShownByBrowser())
    visits = [msgspec.json.decode(maker.line(b"x", at, ending), type=Visit) for at in moments for maker in makers]
    assert len({visit.id for visit in visits}) == 2 * len(moments)

"""Which connections are closed to make room: those that wait for their clients, the longest first, and no others."""

from dataclasses import dataclass, field

from waypost.web.http.open_connections import ConnectionLimits, OpenConnections, Reason, Waiting
from waypost.web.http.proxies import Proxies
from waypost.web.settings import parse_networks

FAR = ["198.51.100.7", "203.0.113.9"]


@dataclass(eq=False)
class Line:
    """A connection of which only its waiting matters."""

    peer: str = FAR[0]
    since: float | None = 0.0
    uses: int = 1
    is_answering: bool = False
    round: int = 0
    closed: list[Reason] = field(default_factory=list)

    def waits_since(self, _now: float) -> Waiting | None:
        return None if self.since is None else (self.uses > 0, self.since, self.uses)

    def look(self, now: float) -> None:
        self.since = now

    def give_up(self, reason: Reason) -> None:
        self.closed.append(reason)


def opened(limits: ConnectionLimits, *lines: Line) -> OpenConnections:
    everything = OpenConnections(limits)
    for line in lines:
        everything.add(line)
    return everything


def test_the_one_that_waits_the_longest_makes_room() -> None:
    lines = [Line(since=since) for since in (3.0, None, 1.0, 2.0)]
    everything = opened(ConnectionLimits(most=4), *lines)
    for _ in range(2):
        everything.add(Line(since=9.0))
    assert [line.closed for line in lines] == [[], [], ["room"], ["room"]]


def test_one_that_was_never_used_makes_room_before_all_that_were() -> None:
    lines = [Line(since=1.0), Line(since=2.0, uses=0), Line(since=3.0)]
    opened(ConnectionLimits(most=2), *lines)
    assert [line.closed for line in lines] == [[], ["room"], []]


def test_of_those_that_wait_equally_long_the_least_used_makes_room() -> None:
    lines = [Line(uses=2), Line(uses=1), Line(uses=3)]
    opened(ConnectionLimits(most=2), *lines)
    assert [line.closed for line in lines] == [[], ["room"], []]


def test_what_we_work_on_is_not_closed_and_a_new_one_comes_in_all_the_same() -> None:
    lines = [Line(since=None) for _ in range(3)]
    everything = opened(ConnectionLimits(most=2), *lines)
    assert [line.closed for line in lines] == [[], [], []]
    everything.look(1.0)


def test_a_client_with_many_makes_room_for_itself() -> None:
    other, theirs = Line(peer=FAR[1], since=-1.0), [Line(since=float(number)) for number in range(4)]
    opened(ConnectionLimits(most_of_client=3), other, *theirs)
    assert other.closed == []
    assert [line.closed for line in theirs] == [["client-room"], [], [], []]


def test_all_addresses_of_a_network_are_one_client() -> None:
    lines = [Line(peer=f"2001:db8:1:2::{number:x}") for number in range(3)]
    others = [Line(peer="2001:db8:1:3::1"), Line(peer="::ffff:198.51.100.7"), Line(peer="::ffff:203.0.113.9")]
    opened(ConnectionLimits(most_of_client=2), *others, *lines)
    assert [line.closed for line in lines + others] == [["client-room"], [], [], [], [], []]


def test_our_proxies_have_as_many_as_there_is_room_for() -> None:
    lines = [Line(peer="10.0.0.1") for _ in range(9)]
    opened(ConnectionLimits(most_of_client=2, proxies=Proxies(parse_networks("10.0.0.0/8"))), *lines)
    assert not any(line.closed for line in lines)


def test_those_that_are_gone_do_not_count() -> None:
    first, second, third = Line(), Line(), Line()
    everything = opened(ConnectionLimits(most=2, most_of_client=2), first, second)
    for _ in range(2):
        everything.discard(first)
    everything.add(third)
    assert (second.closed, third.closed) == ([], [])


def test_a_request_that_waits_for_its_client_makes_room_for_another_request() -> None:
    idle, working, slow = Line(), Line(since=None, is_answering=True), Line(is_answering=True)
    everything = opened(ConnectionLimits(requests=2), idle, working, slow)
    assert everything.has_room_for_request(idle, 1)
    assert not everything.has_room_for_request(slow, 2)
    assert everything.has_room_for_request(idle, 2)
    assert (idle.closed, working.closed, slow.closed) == ([], [], ["request-room"])
    assert not everything.has_room_for_request(idle, 2)


def test_each_is_looked_at_once_in_a_turn() -> None:
    lines = [Line() for _ in range(25)]
    everything = opened(ConnectionLimits(), *lines)
    for now in range(1, 11):
        everything.look(float(now))
    assert {line.since for line in lines} == {float(now) for now in range(1, 11)}

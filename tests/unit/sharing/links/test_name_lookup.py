"""Targets whose names lead to private addresses, for those who have names looked up."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.asking import assert_problem
from support.link_service import TARGET, Service, lines_of, link_service
from waypost.adapters.dns.system_names import SystemNames
from waypost.bootstrap.sharing import target_rules
from waypost.settings import load_settings
from waypost.sharing.links.hosts import Address
from waypost.sharing.links.name_lookup import LookupFailed
from waypost.sharing.links.targets import TargetRefused, TargetRules

pytestmark = pytest.mark.anyio

PRIVATE = "https://inside.example.org/"
KNOWN = {
    "example.org": ["93.184.216.34", "2606:2800:220:1::1"],
    "inside.example.org": ["10.0.0.1"],
    "both.example.org": ["93.184.216.34", "127.0.0.1"],
    "local.example.org": ["fe80::1%eth0"],
}


def resolve(name: str, _port: None, **_more: Any) -> list[Any]:
    """As `socket.getaddrinfo` answers."""
    if name not in KNOWN:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return [(None, None, None, "", (address, 0)) for address in KNOWN[name]]


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, {"links.resolve": "on"}, places=3) as opened:
        opened.parts.author._rules = replace(opened.parts.author.rules, names=SystemNames(resolve))
        yield opened


async def test_names_are_looked_up_where_that_is_set() -> None:
    assert target_rules(load_settings({}, environ={})).names is None
    assert isinstance(target_rules(load_settings({"links.resolve": "on"}, environ={})).names, SystemNames)


async def test_this_machines_own_resolver_is_asked() -> None:
    found = await SystemNames().addresses("localhost")
    assert found
    assert all(address.is_loopback for address in found)
    assert await SystemNames(resolve).addresses("nobody.example.org") == frozenset()


async def test_a_name_that_leads_to_a_private_address_is_refused_wherever_a_target_comes_from(links: Service) -> None:
    for name in ("inside", "both", "local", "nobody"):
        assert_problem(await links.create(f"https://{name}.example.org/"), 400, "target-refused")
    made = await links.make()
    assert_problem(await links.change(made["phrase"], target=PRIVATE), 400, "target-refused")
    good, bad = lines_of(await links.send_lines({"target": f"{TARGET}1"}, {"target": PRIVATE}))
    assert (good["target"], bad["error"]["slug"]) == (f"{TARGET}1", "target-refused")
    assert (await links.change(made["phrase"], title="x")).status_code == 200
    assert (await links.ask("POST", "/v1/places/sim:1/link")).status_code == 201


async def test_addresses_and_targets_without_a_host_are_not_looked_up() -> None:
    class Nobody:
        async def addresses(self, name: str) -> frozenset[Address]:
            raise AssertionError(name)

    rules = TargetRules(names=Nobody())
    for target in ("https://8.8.8.8/", "https://[2606:4700::1111]/", "mailto:ada@example.org", "/collections"):
        await rules.look_up(target)
    await replace(rules, allow_private=True).look_up(PRIVATE)


async def test_a_resolver_that_does_not_answer_holds_nobody_up() -> None:
    answered = threading.Event()

    def slow(*_asked: Any, **_more: Any) -> list[Any]:
        answered.wait(60)
        return resolve("example.org", None)

    names = SystemNames(slow, seconds=0.01)
    lookups = [names.addresses("example.org") for _ in range(20)]
    assert all(isinstance(each, LookupFailed) for each in await asyncio.gather(*lookups, return_exceptions=True))
    assert sum(thread.name == "name-lookup" for thread in threading.enumerate()) <= 4
    answered.set()
    patient = SystemNames(slow, seconds=60)
    assert ipaddress.ip_address("93.184.216.34") in await patient.addresses("example.org")


async def test_trouble_with_the_resolver_is_worth_another_try(links: Service) -> None:
    def broken(*_asked: Any, **_more: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    links.parts.author._rules = replace(links.parts.author.rules, names=SystemNames(broken))
    assert_problem(await links.create(), 503, "lookup-failed")
    with pytest.raises(TargetRefused):
        links.parts.author.rules.check("https://10.0.0.1/")

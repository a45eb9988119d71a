"""Jobs and budgets on a Redis Cluster of three nodes, while slots move between them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from redis import Redis, RedisCluster
from redis.crc import key_slot

from support.job_store_redis import new_namespace, open_jobs
from support.servers import redis as single_server
from support.servers import redis_cluster as server
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.scripts import make_script
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.job import NewJob

pytestmark = pytest.mark.anyio

READ = make_script("read", "return redis.call('GET', KEYS[1])")
WRITE = make_script("write", "return redis.call('INCR', KEYS[1])")


@asynccontextmanager
async def opened() -> AsyncIterator[RedisClient]:
    client = await RedisClient.open(server.address())
    try:
        yield client
    finally:
        await client.close()


def ports() -> list[int]:
    return [int(host.rpartition(":")[2]) for host in server.address().partition("//")[2].split(",")]


class Move:
    """A slot on its way from one node to another."""

    def __init__(self, key: str) -> None:
        with RedisCluster(host="127.0.0.1", port=ports()[0]) as cluster:
            owner = cluster.get_node_from_key(key)
            assert owner
        self.slot = key_slot(key.encode())
        self.source: Any = Redis(port=int(owner.port))
        self.target_port = next(port for port in ports() if port != owner.port)
        self.target: Any = Redis(port=self.target_port)

    def begin(self) -> None:
        old_owner, new_owner = (node.execute_command("CLUSTER MYID") for node in (self.source, self.target))
        self.target.execute_command("CLUSTER SETSLOT", self.slot, "IMPORTING", old_owner)
        self.source.execute_command("CLUSTER SETSLOT", self.slot, "MIGRATING", new_owner)

    def take_all(self) -> None:
        while keys := self.source.execute_command("CLUSTER GETKEYSINSLOT", self.slot, 100):
            self.source.execute_command("MIGRATE", "127.0.0.1", self.target_port, "", 0, 5000, "KEYS", *keys)

    def end(self) -> None:
        new_owner = self.target.execute_command("CLUSTER MYID")
        for node in (self.target, self.source):
            node.execute_command("CLUSTER SETSLOT", self.slot, "NODE", new_owner)

    def close(self) -> None:
        self.source.close()
        self.target.close()


@contextmanager
def moving(key: str) -> Iterator[Move]:
    move = Move(key)
    try:
        move.begin()
        yield move
    finally:
        move.end()
        move.close()


async def test_a_slot_that_has_moved_is_followed() -> None:
    namespace = new_namespace()
    async with open_jobs(server.address(), namespace) as jobs:
        await jobs.enqueue([NewJob("ocm/country:DE/full:2026-02-21")])
        with moving(f"{{{namespace}}}:jobs") as move:
            move.take_all()
        [lease] = await jobs.claim("me", limit=5, lease=30, max_vanished=5)
        assert lease.shard == "ocm/country:DE/full:2026-02-21"
        await jobs.release(lease, counted={})
        assert await jobs.prune(older_than=0) == 0


async def test_a_key_that_is_on_its_way_is_asked_for_where_it_went() -> None:
    key = f"{{{new_namespace()}}}"
    async with opened() as client:
        assert await client.run(WRITE, key) == 1
        with moving(key) as move:
            assert await client.run(READ, key) == "1"
            move.take_all()
            assert await client.run(WRITE, key) == 2
            assert await client.run_quickly(READ, key, b"") == b"2"
        assert await client.run(READ, key) == "2"


async def test_the_url_of_one_server_does_not_do_for_a_node_of_a_cluster() -> None:
    port = ports()[0]
    with pytest.raises(AskedWrongly, match=r"must begin with redis\+cluster://") as refusal:
        await RedisClient.open(f"redis://127.0.0.1:{port}")
    assert f"redis+cluster://user:password@127.0.0.1:{port}" in str(refusal.value.next_step)


async def test_the_url_of_a_cluster_does_not_do_for_one_server() -> None:
    with pytest.raises(AskedWrongly, match="is not a cluster"):
        await RedisClient.open(single_server.address().replace("redis:", "redis+cluster:"))

"""Jobs on a real Redis: what the contract suite cannot ask, because only Redis has it."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from support.job_store_redis import age_redis, new_namespace, open_jobs, open_plainly
from support.processes import eventually
from support.servers import redis as server
from support.servers.sharing import find_program, free_port, supervised
from waypost.adapters.errors import StoreAway, StoreFull, StoreRefused, StoreTooNew
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.errors import translate
from waypost.adapters.redis.jobs import RedisJobStore
from waypost.kernel.errors import AskedWrongly, TransientError
from waypost.scaling.jobs.job import Done, Failure, Lease, LeaseLost, NewJob, Renewed

pytestmark = pytest.mark.anyio

FAILURE = Failure("provider-unavailable", "it is away")


class OwnRedis:
    """A server of the test's own, which can be killed and started again on the same folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._port = free_port()
        self._options = options
        self._starts = 0
        self.url = f"redis://127.0.0.1:{self._port}"
        (folder / "data").mkdir()

    def start(self) -> None:
        self._starts += 1
        folder = self._folder / f"start-{self._starts}"
        folder.mkdir()
        place = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder / "data")]
        supervised(folder, [find_program("redis-server"), *place, *self._options], self.answers)

    def answers(self) -> bool:
        with Redis.from_url(self.url) as plain:
            try:
                return bool(plain.ping())
            except RedisError as error:
                return "NOAUTH" in str(error) or "Authentication" in str(error)

    def end(self) -> None:
        if self.answers():
            self.kill()

    def kill(self) -> None:
        with Redis.from_url(self.url) as plain:
            os.kill(plain.info("server")["process_id"], signal.SIGKILL)
        eventually(lambda: not self.answers(), "the server is gone")


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Callable[..., OwnRedis]]:
    """Starts servers of the test's own, with options, and ends them."""
    with ExitStack() as ending:

        def start(*options: str) -> OwnRedis:
            folder = tmp_path / f"redis-{free_port()}"
            folder.mkdir()
            own = OwnRedis(folder, *options)
            own.start()
            ending.callback(own.end)
            return own

        yield start


@pytest.fixture
async def jobs() -> AsyncIterator[RedisJobStore]:
    async with open_jobs(server.address(), new_namespace()) as store:
        yield store


def shards(count: int, kind: str = "ids") -> list[str]:
    return [f"ocm/country:DE/{kind}:{number}..{number + 1}" for number in range(count)]


async def enqueue(jobs: RedisJobStore, names: list[str], group: str | None = "one") -> int:
    return await jobs.enqueue([NewJob(name) for name in names], group=group)


async def claim(jobs: RedisJobStore, limit: int = 1, group: str | None = None) -> list[Lease]:
    return list(await jobs.claim("me", limit=limit, lease=30, max_vanished=5, group=group))


async def test_scripts_that_the_server_forgot_are_loaded_again(jobs: RedisJobStore) -> None:
    await enqueue(jobs, shards(2))
    await claim(jobs)
    async with open_plainly(server.address()) as plain:
        await plain.script_flush()
    assert len(await claim(jobs, 2)) == 1


async def test_jobs_and_fences_outlive_a_killed_server(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis("--appendonly", "yes", "--appendfsync", "always")
    async with open_jobs(own.url, "waypost") as jobs, open_jobs(own.url, "waypost") as other:
        await enqueue(jobs, shards(3))
        first, second = await claim(jobs, 2)
        await jobs.checkpoint(first, cursor="after:7", counted={"pages": 1})
        # In a thread, as a server elsewhere dies: the loop goes on, and sees that its connections are gone.
        await asyncio.to_thread(own.kill)
        await asyncio.to_thread(own.start)
        assert await jobs.count() == {"pending": 1, "leased": 2}
        await jobs.complete([Done(second)])
        await age_redis(own.url, "waypost", 31)
        again, third = await claim(other, 5)
        assert (again.job_id, again.cursor) == (first.job_id, "after:7")
        assert third.fence > again.fence > second.fence
        with pytest.raises(LeaseLost):
            await jobs.checkpoint(first, cursor="after:9", counted={})
        assert (await jobs.tally("one")).jobs == {"done": 1, "leased": 2}


async def test_a_waiter_hears_again_after_the_server_was_away(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs:
        await jobs.wait(30)
        own.kill()
        await jobs.wait(0.01)
        own.start()
        await asyncio.wait_for(jobs.wait(60), timeout=30)


async def test_a_flushed_server_gives_out_no_fence_for_a_second_time(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs, open_plainly(own.url) as plain:
        await enqueue(jobs, shards(50))
        before = await claim(jobs, 50)
        await plain.flushall()
        assert await jobs.count() == {}
        await enqueue(jobs, shards(1))
        [after] = await claim(jobs)
        assert after.fence > max(lease.fence for lease in before)
        with pytest.raises(LeaseLost):
            await jobs.release(before[0], counted={})


async def test_fences_start_above_what_another_store_has_seen(jobs: RedisJobStore) -> None:
    await enqueue(jobs, shards(2))
    [first] = await claim(jobs)
    await jobs.raise_fences(first.fence + 10**12)
    [second] = await claim(jobs)
    assert second.fence == first.fence + 10**12 + 1
    await jobs.raise_fences(7)
    await jobs.release(second, counted={})
    [third] = await claim(jobs)
    assert third.fence == second.fence + 1


async def live_through_everything(jobs: RedisJobStore) -> None:
    """Each script once, and something left in each status."""
    await enqueue(jobs, shards(8))
    await enqueue(jobs, shards(2), "two:with{braces}")
    done, split, failed, dead, released, revived, kept = await claim(jobs, 7, "one")
    await jobs.renew([kept], lease=30)
    await jobs.checkpoint(kept, cursor="after:7", counted={"pages": 1})
    await jobs.complete([Done(done, {"pages": 2})])
    await jobs.split(split, shards(2, "part"), counted={})
    await jobs.fail(failed, FAILURE, retry_in=60, counted={"requests": 1})
    await jobs.fail(revived, FAILURE, retry_in=None, counted={})
    await jobs.revive([revived.shard])
    await jobs.fail(dead, FAILURE, retry_in=None, counted={})
    await jobs.release(released, counted={})
    await jobs.raise_fences(1)
    assert await jobs.release_owner("nobody", max_vanished=5) == 0
    assert await jobs.prune(older_than=3600) == 0
    assert len(await jobs.list(prefix="ocm/country:DE/part", group="one")) == 2
    assert (await jobs.tally("one")).jobs == {"pending": 6, "leased": 1, "done": 2, "dead": 1}


async def test_all_keys_of_a_namespace_live_in_one_slot_of_a_cluster(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis("--cluster-enabled", "yes")
    with Redis.from_url(own.url) as plain:
        plain.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        eventually(lambda: plain.cluster("info")["cluster_state"] == "ok", "the cluster is up")
        async with open_jobs(own.url.replace("redis:", "redis+cluster:"), "waypost") as jobs:
            await live_through_everything(jobs)
        assert {key_slot(key) for key in plain.scan_iter()} == {key_slot(b"waypost")}


async def test_namespaces_do_not_see_each_other(jobs: RedisJobStore) -> None:
    await enqueue(jobs, shards(3))
    async with open_jobs(server.address(), new_namespace()) as other:
        assert await other.count() == {}
        assert await claim(other) == []


@pytest.mark.parametrize("namespace", ["", "a{b", "a}b"])
async def test_a_namespace_that_would_break_the_hash_tag_is_refused(jobs: RedisJobStore, namespace: str) -> None:
    with pytest.raises(AskedWrongly):
        RedisJobStore(jobs._client, namespace)


async def test_a_namespace_of_a_newer_release_is_refused_and_left_alone() -> None:
    namespace = new_namespace()
    root = f"{{{namespace}}}:jobs"
    async with open_jobs(server.address(), namespace) as jobs, open_plainly(server.address()) as plain:
        await enqueue(jobs, shards(1))
        [lease] = await claim(jobs)
        await plain.hset(root, mapping={"layout": "3", "oldest_code": "2"})
        for call in (
            lambda: enqueue(jobs, shards(2)),
            lambda: claim(jobs),
            lambda: jobs.complete([Done(lease)]),
            jobs.list,
            jobs.count,
        ):
            with pytest.raises(StoreTooNew, match="newer Waypost"):
                await call()
        await plain.hset(root, "oldest_code", "1")
        assert await jobs.count() == {"leased": 1}


async def test_a_lost_connection_is_worth_another_try(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs:
        own.kill()
        with pytest.raises(StoreAway, match="Redis at 127"):
            await claim(jobs)
        with pytest.raises(TransientError):
            await RedisClient.open(own.url)


async def test_a_connection_that_was_cut_just_before_a_write_is_worth_another_try() -> None:
    cut = "unable to perform operation on <TCPTransport closed=True reading=False 0x1>; the handler is closed"
    assert isinstance(translate(RuntimeError(cut), "here"), StoreAway)
    assert translate(RuntimeError("a defect of ours"), "here") is None


async def test_a_full_server_changes_nothing(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs, open_plainly(own.url) as plain:
        await enqueue(jobs, shards(3))
        await plain.config_set("maxmemory", "1")
        with pytest.raises(StoreFull):
            await enqueue(jobs, shards(9))
        with pytest.raises(StoreFull):
            await claim(jobs)
        assert await jobs.count() == {"pending": 3}


async def test_a_wrong_password_is_refused_without_being_shown(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    with Redis.from_url(own.url) as plain:
        plain.config_set("requirepass", "right")
        for url in (own.url, own.url.replace("//", "//:very-secret@")):
            with pytest.raises(StoreRefused) as refusal:
                await RedisClient.open(url)
            assert "very-secret" not in str(refusal.value)
        plain.config_set("requirepass", "")


async def test_what_is_no_address_of_a_redis_is_refused() -> None:
    for url in ("postgresql://localhost", "redis://localhost:port"):
        with pytest.raises(AskedWrongly):
            await RedisClient.open(url)


@asynccontextmanager
async def counting(url: str) -> AsyncIterator[Counter[str]]:
    """Fills in how often the server ran each command meanwhile, also those in scripts."""
    calls: Counter[str] = Counter()
    async with open_plainly(url) as plain:

        async def stats() -> Mapping[str, int]:
            found = await plain.info("commandstats")
            return {name.removeprefix("cmdstat_"): each["calls"] for name, each in found.items() if "info" not in name}

        before = await stats()
        yield calls
        calls.update(await stats())
        calls.subtract(before)
        for name in [name for name, count in calls.items() if not count]:
            del calls[name]


async def test_a_hundred_jobs_are_claimed_and_completed_in_one_call_each(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs:
        await enqueue(jobs, shards(300))
        await jobs.complete([Done(lease) for lease in await claim(jobs, 100)])
        async with counting(own.url) as claiming:
            leases = await claim(jobs, 100)
        async with counting(own.url) as completing:
            kept = await jobs.complete([Done(lease, {"pages": 1}) for lease in leases])
        assert len(kept) == 100
        assert (claiming["evalsha"], claiming["eval"]) == (1, 0)
        assert (completing["evalsha"], completing["eval"]) == (1, 0)


async def test_claiming_does_as_little_with_twenty_thousand_finished_jobs_as_with_none(
    own_redis: Callable[..., OwnRedis],
) -> None:
    own = own_redis()

    async def cost_of_a_claim(jobs: RedisJobStore) -> Counter[str]:
        async with counting(own.url) as calls:
            assert len(await claim(jobs, 100, "one")) == 100
        return calls

    async with open_jobs(own.url, "waypost") as jobs, open_plainly(own.url) as plain:
        await claim(jobs)
        await enqueue(jobs, shards(120))
        before = await cost_of_a_claim(jobs)
        await enqueue(jobs, shards(20_000, "done"))
        while leases := await claim(jobs, 1000):
            await jobs.complete([Done(lease) for lease in leases])
        for claimable in ("pending:0", "pending:0:one", "priorities", "priorities:one"):
            assert not await plain.exists(f"{{waypost}}:jobs:{claimable}"), claimable
        assert await jobs.count() == {"leased": 100, "done": 20_020}
        await enqueue(jobs, shards(120, "new"))
        assert await cost_of_a_claim(jobs) == before


async def test_what_touches_many_jobs_goes_through_all_of_them_in_chunks(own_redis: Callable[..., OwnRedis]) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs:
        assert await enqueue(jobs, shards(2500)) == 2500
        leases = await claim(jobs, 2500)
        assert len((await jobs.renew(leases, lease=30)).kept) == 2500
        assert len(await jobs.list(status="leased", prefix="ocm/", group="one", limit=5000)) == 2500
        assert [job.shard for job in await jobs.list(prefix="ocm/c", limit=2500)] == shards(2500)
        assert await jobs.release_owner("me", max_vanished=5) == 2500
        for lease in await claim(jobs, 1200):
            await jobs.fail(lease, FAILURE, retry_in=None, counted={})
        assert await jobs.revive() == 1200
        assert len(await jobs.complete([Done(lease) for lease in await claim(jobs, 2500)])) == 2500
        assert await jobs.prune(older_than=5) == 0
        await age_redis(own.url, "waypost", 10)
        async with counting(own.url) as calls:
            assert await jobs.prune(older_than=5) == 2500
        # One for the time, three for what is done, and one to see that nothing is cancelled.
        assert (calls["evalsha"], calls["eval"]) == (5, 0)
        with Redis.from_url(own.url, decode_responses=True) as plain:
            assert set(plain.scan_iter()) == {"{waypost}:jobs", "{waypost}:jobs:fence"}


async def test_a_pruned_job_takes_what_it_counted_out_of_its_groups() -> None:
    url, namespace = server.address(), new_namespace()
    async with open_jobs(url, namespace) as jobs:
        await enqueue(jobs, shards(2), "one")
        leases = await claim(jobs, 2)
        await jobs.checkpoint(leases[0], cursor=None, counted={"pages": 3})
        await enqueue(jobs, shards(1), "two")
        await jobs.complete([Done(leases[0], {"pages": 4})])
        assert (await jobs.tally("two")).counters["pages"] == 4
        await age_redis(url, namespace, 10)
        assert await jobs.prune(older_than=5) == 1
        assert (await jobs.tally("one")).counters["pages"] == 0
        assert (await jobs.tally("two")).total == 0


async def test_thousands_are_cancelled_in_chunks_and_pruning_them_leaves_nothing(
    own_redis: Callable[..., OwnRedis],
) -> None:
    own = own_redis()
    async with open_jobs(own.url, "waypost") as jobs:
        await enqueue(jobs, shards(2500))
        await enqueue(jobs, shards(10), "two")
        await claim(jobs, 100)
        async with counting(own.url) as calls:
            assert await jobs.cancel("one") == 2490
        # Three for what is there, one to see that it is all, and one to send the script.
        assert (calls["evalsha"], calls["eval"]) == (4, 1)
        assert (await jobs.tally("one")).jobs == {"cancelled": 2500}
        assert await jobs.cancel("two") == 10
        await age_redis(own.url, "waypost", 10)
        assert await jobs.prune(older_than=5) == 2500
        with Redis.from_url(own.url, decode_responses=True) as plain:
            assert set(plain.scan_iter()) == {"{waypost}:jobs", "{waypost}:jobs:fence"}


async def test_a_job_whose_record_was_evicted_does_not_stop_the_others() -> None:
    namespace = new_namespace()
    async with open_jobs(server.address(), namespace) as jobs, open_plainly(server.address()) as plain:
        await enqueue(jobs, shards(3))
        first = (await jobs.list())[0]
        await plain.delete(f"{{{namespace}}}:jobs:job:{first.id}")
        assert [lease.shard for lease in await claim(jobs, 3)] == shards(3)[1:]
        assert [job.shard for job in await jobs.list()] == shards(3)[1:]


@pytest.mark.parametrize("how", ["enqueue", "release", "fail", "split", "revive", "release_owner"])
async def test_a_waiter_is_told_of_whatever_makes_a_job_claimable(how: str) -> None:
    namespace = new_namespace()
    async with (
        open_jobs(server.address(), namespace) as jobs,
        open_jobs(server.address(), namespace) as waiter,
    ):
        await enqueue(jobs, shards(1))
        [lease] = await claim(jobs)
        if how == "revive":
            await jobs.fail(lease, FAILURE, retry_in=None, counted={})
        # The first wait subscribes, which counts as news; from there on everything is heard.
        await asyncio.wait_for(waiter.wait(60), timeout=30)
        match how:
            case "enqueue":
                await enqueue(jobs, shards(2))
            case "release":
                await jobs.release(lease, counted={})
            case "fail":
                await jobs.fail(lease, FAILURE, retry_in=0, counted={})
            case "split":
                await jobs.split(lease, shards(1, "part"), counted={})
            case "revive":
                await jobs.revive()
            case _:
                await jobs.release_owner("me", max_vanished=5)
        await asyncio.wait_for(waiter.wait(60), timeout=30)


async def test_leases_can_be_renewed_from_a_thread_with_a_loop_of_its_own() -> None:
    namespace = new_namespace()
    async with open_jobs(server.address(), namespace) as jobs:
        await enqueue(jobs, shards(1))
        [lease] = await claim(jobs)

        async def renew() -> Renewed:
            async with open_jobs(server.address(), namespace) as other:
                return await other.renew([lease], lease=30)

        assert await asyncio.to_thread(lambda: asyncio.run(renew())) == Renewed({lease.job_id})

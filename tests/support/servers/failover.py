"""Servers of one test's own, of which one can be lost: another takes over."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis
from redis.crc import key_slot

from support.processes import eventually
from support.servers import mongo, postgres, redis, redis_cluster
from support.servers.private import PrivateServer, own_folder, running
from support.servers.sharing import free_port

_MASTER = "main"
# Sentinels look for replicas every ten seconds.
_MEETING_SECONDS = 30.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Failover:
    url: str
    # SIGKILL for the primary; returns once another one takes writes.
    lose_the_primary: Callable[[], None]


@contextmanager
def postgres_pair() -> Iterator[Failover]:
    """A primary, and a replica that has all that was acknowledged."""
    with own_folder() as first, own_folder() as second:
        ports = free_port(), free_port()
        postgres.make_cluster(first, ports[0])
        with running(postgres.command(first), first, lambda: postgres.answers(ports[0])) as primary:
            postgres.copy_cluster(second, ports[1], ports[0])
            with running(postgres.command(second), second, lambda: postgres.answers(ports[1])):
                postgres.wait_for_replica(ports[0])

                def lose_the_primary() -> None:
                    primary.kill()
                    postgres.promote(second)

                hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
                url = f"postgresql://app@{hosts}/postgres?target_session_attrs=read-write"
                yield Failover(url, lose_the_primary)


@contextmanager
def mongodb_set() -> Iterator[Failover]:
    """A replica set of three."""
    with ExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        servers = {port: _start_mongod(stack, port) for port in ports}
        mongo.initiate(*ports)

        def primary_of(some: Sequence[int]) -> int | None:
            return next((port for port in some if mongo.accepts_writes(port)), None)

        eventually(lambda: primary_of(ports), "the set has a primary")

        def lose_the_primary() -> None:
            lost = primary_of(ports)
            assert lost
            servers[lost].kill()
            eventually(lambda: primary_of([port for port in ports if port != lost]), "another primary was elected")

        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        yield Failover(f"mongodb://{hosts}/chaos?replicaSet=rs0", lose_the_primary)


@contextmanager
def redis_with_sentinels() -> Iterator[Failover]:
    """A master and a replica, and three sentinels that watch over them."""
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder())
        master = free_port()
        server = _start_redis(stack, folder, master, redis.command(master, folder))
        replica = free_port()
        _start_redis(stack, folder, replica, redis.command(replica, folder, "--replicaof", "127.0.0.1", str(master)))
        _until_in_sync(replica)
        sentinels = _start_sentinels(stack, folder, master)

        def lose_the_primary() -> None:
            server.kill()
            eventually(lambda: _is_master(replica), "the replica was made the master")

        hosts = ",".join(f"127.0.0.1:{port}" for port in sentinels)
        yield Failover(f"redis+sentinel://{hosts}/{_MASTER}", lose_the_primary)


@contextmanager
def redis_cluster_with_replicas(key: str = "waypost") -> Iterator[Failover]:
    """Three masters and a replica of each; the one with the key is lost."""
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder())
        nodes = [redis_cluster.new_node() for _ in range(6)]
        # Long enough for a busy machine: a master that is only slow would be replaced, too.
        hasty = ("--cluster-node-timeout", "3000")
        servers = [_start_redis(stack, folder, node.port, node.command(folder, *hasty)) for node in nodes]
        redis_cluster.join(nodes[:3], nodes[3:])
        owner = key_slot(key.encode()) * 3 // 16384

        def lose_the_primary() -> None:
            servers[owner].kill()
            eventually(lambda: _is_master(nodes[3 + owner].port), "the replica was made the master")

        yield Failover(redis_cluster.url_of(nodes[:3]), lose_the_primary)


def _start_mongod(stack: ExitStack, port: int) -> PrivateServer:
    folder = stack.enter_context(own_folder())
    return stack.enter_context(running(mongo.command(port, folder), folder, lambda: mongo.answers(port)))


def _start_redis(stack: ExitStack, folder: Path, port: int, command: list[str]) -> PrivateServer:
    return stack.enter_context(running(command, folder, lambda: redis.answers(port)))


def _until_in_sync(port: int) -> None:
    eventually(lambda: _replication(port).get("master_link_status") == "up", "the replica has all")


def _is_master(port: int) -> bool:
    return _replication(port).get("role") == "master"


def _replication(port: int) -> dict[str, object]:
    with Redis(port=port, decode_responses=True) as client:
        return dict(client.info("replication"))


def _start_sentinels(stack: ExitStack, folder: Path, master: int) -> list[int]:
    """Three that know each other and the replica. Rarely they do not find each other, and others are started."""
    known: list[dict[str, object]] = []
    for _ in range(3):
        ports = []
        with ExitStack() as these:
            for _ in range(3):
                ports.append(free_port())
                _start_redis(these, folder, ports[-1], redis.sentinel_command(ports[-1], folder, _MASTER, master))
            give_up = time.monotonic() + _MEETING_SECONDS
            while time.monotonic() < give_up:
                known = [_known_by(port) for port in ports]
                if all(each == {"num-other-sentinels": 2, "num-slaves": 1} for each in known):
                    stack.push(these.pop_all())
                    return ports
                time.sleep(_LOOK_SECONDS)
    raise AssertionError(f"sentinels never met; they know {known}")


def _known_by(port: int) -> dict[str, object]:
    with Redis(port=port, decode_responses=True) as client:
        known = client.sentinel_master(_MASTER)
    return {name: int(known[name]) for name in ("num-other-sentinels", "num-slaves")}


FAILOVERS = {
    "postgres": postgres_pair,
    "mongodb": mongodb_set,
    "redis-sentinel": redis_with_sentinels,
    "redis-cluster": redis_cluster_with_replicas,
}

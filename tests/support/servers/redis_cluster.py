"""A private Redis Cluster of three nodes, and what makes several Redis one."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from support.processes import eventually
from support.servers import redis
from support.servers.sharing import free_port, shared, supervised

_SLOTS = 16384


@dataclass(frozen=True)
class Node:
    port: int
    bus_port: int

    def command(self, folder: Path, *options: str) -> list[str]:
        """How it is started; what it keeps goes into the folder."""
        bus = ["--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)]
        return redis.command(self.port, folder, *bus, "--cluster-config-file", f"nodes-{self.port}.conf", *options)


def new_node() -> Node:
    return Node(free_port(), free_port())


def address() -> str:
    """Where the run's cluster is, as redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT."""
    return shared("redis-cluster", _start)


def url_of(nodes: Sequence[Node]) -> str:
    return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in nodes)}"


def join(masters: Sequence[Node], replicas: Sequence[Node] = ()) -> None:
    """Make them one cluster, with the first replica for the first master, and so on. Returns once it works."""
    nodes = [*masters, *replicas]
    with ExitStack() as stack:
        clients = [stack.enter_context(Redis(port=node.port, decode_responses=True)) for node in nodes]
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for number, client in enumerate(clients[: len(masters)]):
            first, after = (_SLOTS * each // len(masters) for each in (number, number + 1))
            client.execute_command("CLUSTER ADDSLOTSRANGE", first, after - 1)
        for number, client in enumerate(clients):
            for node in nodes[number + 1 :]:  # they would hear of each other by and by
                client.execute_command("CLUSTER MEET", "127.0.0.1", node.port, node.bus_port)
        for client in clients:
            eventually(lambda client=client: _is_whole(client, len(nodes)), "all know each other")  # type: ignore[misc]
        for master, client in zip(clients, clients[len(masters) :], strict=False):
            client.execute_command("CLUSTER REPLICATE", master.execute_command("CLUSTER MYID"))
        for client in clients[len(masters) :]:
            eventually(lambda client=client: _follows(client), "the replica has all")  # type: ignore[misc]


def _is_whole(client: "Redis", nodes: int) -> bool:
    info = client.cluster("info")
    return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == nodes


def _follows(client: "Redis") -> bool:
    return client.info("replication").get("master_link_status") == "up"


def _start(folder: Path) -> str:
    nodes = [new_node() for _ in range(3)]
    for node in nodes:
        supervised(folder, node.command(folder), lambda node=node: redis.answers(node.port))  # type: ignore[misc]
    join(nodes)
    return url_of(nodes)

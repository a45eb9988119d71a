"""A private PostgreSQL, and another one with a streaming replica for those who ask."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from support.servers.sharing import ServerMissing, find_program, free_port, shared, supervised

_CONFIGURATION = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = off
synchronous_commit = on
full_page_writes = off
max_connections = 200
wal_level = replica
max_wal_senders = 5
max_replication_slots = 5
hot_standby = on
wal_retrieve_retry_interval = 200ms
"""


def primary() -> str:
    """Where the run's PostgreSQL is, as postgresql://app@127.0.0.1:PORT, without a database."""
    return shared("postgres", _start_primary)


def followed_primary() -> str:
    """Where a PostgreSQL is that `replica` follows; not `primary`, whose many databases would all be replayed there."""
    return shared("postgres-followed", _start_primary)


def replica() -> str:
    """Where a streaming replica of `followed_primary` is."""
    source = followed_primary()
    return shared("postgres-replica", lambda folder: _start_replica(folder, source))


def _programs() -> Path:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return versions[-1] if versions else Path(find_program("postgres")).parent


def _as_user() -> list[str]:
    """PostgreSQL refuses to run as root, so root becomes the user that its package made."""
    if os.getuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise ServerMissing("there is no user postgres; `make test` installs the package that makes it") from None
    # Unlike runuser and su, setpriv leaves no process of its own between the supervisor's signals and the server.
    return [find_program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def _run(*command: str | Path, folder: Path) -> None:
    done = subprocess.run([*_as_user(), *map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerMissing(f"{command[0]}: {done.stderr or done.stdout}")


def _own(folder: Path) -> None:
    folder.chmod(0o755)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")


def make_cluster(folder: Path, port: int) -> None:
    """An empty cluster in the folder, to be served on this port."""
    _own(folder)
    data = folder / "data"
    _run(_programs() / "initdb", "-D", data, "-U", "app", "--auth=trust", "--no-sync", "-E", "UTF8", folder=folder)
    with (data / "postgresql.conf").open("a") as configuration:
        configuration.write(_CONFIGURATION.format(port=port, folder=folder))


def command(folder: Path) -> list[str]:
    """How the cluster in the folder is served."""
    return [*_as_user(), str(_programs() / "postgres"), "-D", str(folder / "data")]


def answers(port: int) -> bool:
    ready = [str(_programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(ready, check=False).returncode == 0


def _start_primary(folder: Path) -> str:
    port = free_port()
    make_cluster(folder, port)
    supervised(folder, command(folder), lambda: answers(port))
    return f"postgresql://app@127.0.0.1:{port}"


def copy_cluster(folder: Path, port: int, source_port: int) -> None:
    """A streaming replica of a running cluster in the folder, to be served on this port."""
    _own(folder)
    data = folder / "data"
    copy = ["-h", "127.0.0.1", "-p", str(source_port), "-U", "app", "-D", str(data), "-R", "-X", "stream", "-c", "fast"]
    _run(_programs() / "pg_basebackup", *copy, "-C", "-S", f"replica_{port}", folder=folder)
    with (data / "postgresql.conf").open("a") as configuration:
        configuration.write(f"\nport = {port}\nunix_socket_directories = '{folder}'\n")


def wait_for_replica(port: int) -> None:
    """From here on the primary on this port acknowledges nothing that its replica does not have."""
    _say(port, "alter system set synchronous_standby_names = '*'")
    _say(port, "select pg_reload_conf()")


def promote(folder: Path) -> None:
    """Make the replica in the folder a primary. Returns once it takes writes."""
    _run(_programs() / "pg_ctl", "promote", "-w", "-D", folder / "data", folder=folder)


def _say(port: int, statement: str) -> None:
    where = ["-h", "127.0.0.1", "-p", str(port), "-U", "app", "-d", "postgres"]
    subprocess.run([str(_programs() / "psql"), *where, "-q", "-c", statement], check=True, capture_output=True)


def _start_replica(folder: Path, source: str) -> str:
    port = free_port()
    copy_cluster(folder, port, int(source.rpartition(":")[2]))
    supervised(folder, command(folder), lambda: answers(port))
    return f"postgresql://app@127.0.0.1:{port}"

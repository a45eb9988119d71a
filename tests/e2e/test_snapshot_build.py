"""`waypost snapshot build` with real processes: the same bytes from any number of them, and the old generation whatever
happens to them.
"""

import gzip
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from support.places import page, writing
from support.processes import Processes, Running, eventually, obey_permissions
from support.snapshots import shelve, stations
from support.stores import BACKENDS, open_backend
from waypost.places.place import Place
from waypost.scaling.jobs.job import NewJob
from waypost.serving.format import SECTIONS
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf

COUNT = 3000
MANY = 12_000


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started


def write_places(path: Path, count: int, name: str = "Place") -> None:
    places = (
        Place(external_id=f"sim:{at}", source="sim", name=f"{name} {at}", lat=at % 90, lon=at % 180, country="DE")
        for at in range(count)
    )
    path.write_bytes(b"".join(msgspec.json.encode(place) + b"\n" for place in places))


def shelf(folder: Path) -> Shelf:
    return Shelf(folder / "waypost-data" / "snapshots")


def shelve_old(folder: Path) -> None:
    """A generation from before, of ten places."""
    shelve(shelf(folder).folder, stations(10))


def count_in_service(folder: Path) -> int:
    current = shelf(folder).current()
    assert current
    return Generation.open(current).count


def workplaces(folder: Path) -> list[Path]:
    return list(shelf(folder).folder.glob(".building-*"))


def children_of(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_neither_processes_nor_memory_change_a_byte(processes: Processes, tmp_path: Path) -> None:
    write_places(tmp_path / "places.ndjson", COUNT)
    built: dict[str, list[bytes]] = {}
    for number, options in enumerate((["1"], ["2"], ["3", "--memory", "200k"], ["1", "--memory", "100k"])):
        data = f"data{number}"
        manifest = processes.json(
            "snapshot", "build", "--from", "places.ndjson", "--data", data, "--processes", *options
        )
        assert manifest["count"] == COUNT
        generation = tmp_path / data / "snapshots" / manifest["generation"]
        assert sorted(path.name for path in generation.iterdir()) == sorted([*SECTIONS, "manifest.json"])
        built[" ".join(options)] = [(generation / name).read_bytes() for name in SECTIONS]
    assert len({tuple(sections) for sections in built.values()}) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("backend_name", BACKENDS)
async def test_each_process_reads_its_part_of_the_store(
    processes: Processes, tmp_path: Path, backend_name: str
) -> None:
    async with open_backend(backend_name, tmp_path / "data") as backend:
        await backend.stores.jobs.enqueue([NewJob("ocm/country:DE/full:2026-02-21")])
        [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
        await backend.stores.pages.commit(lease, page(*range(500), last=True), writing())
        data, store = str(tmp_path / "data"), backend.settings.storage.store_url
        env = {"WAYPOST_STORE": store, "WAYPOST_DATA": data}
        manifests = [processes.json("snapshot", "build", "--processes", number, env=env) for number in ("1", "3")]
    assert manifests[0] == manifests[1]
    assert manifests[0]["count"] == 500


def test_an_empty_store_and_one_place_give_generations_too(processes: Processes, tmp_path: Path) -> None:
    write_places(tmp_path / "one.ndjson", 1)
    (tmp_path / "none.ndjson").touch()
    for name, count in (("none.ndjson", 0), ("one.ndjson", 1)):
        assert processes.json("snapshot", "build", "--from", name, "--processes", "2")["count"] == count
        assert count_in_service(tmp_path) == count


# What is in the workplace when each stage has begun.
STAGES = ("lock", "*.run", "features.bin", "*.run.rows", "slots.bin", "words*", "manifest.json")


def start_build(processes: Processes, tmp_path: Path) -> Running:
    shelve_old(tmp_path)
    write_places(tmp_path / "new.ndjson", MANY, "New")
    return processes.start("snapshot", "build", "--from", "new.ndjson", "--processes", "2", "--memory", "2m")


def wait_for_stage(running: Running, tmp_path: Path, pattern: str) -> None:
    eventually(
        lambda: running.process.poll() is not None or any(list(place.glob(pattern)) for place in workplaces(tmp_path)),
        f"{pattern} in the workplace",
    )


def check_what_is_left(processes: Processes, tmp_path: Path) -> None:
    """The old generation or the new one, whole; and the next build clears up and gives what it always gives."""
    assert count_in_service(tmp_path) in {10, MANY}
    done = processes.run("snapshot", "build", "--from", "new.ndjson", "--processes", "1")
    assert done.returncode == 0, done.stderr
    assert count_in_service(tmp_path) == MANY
    assert workplaces(tmp_path) == []


@pytest.mark.parametrize("pattern", STAGES)
def test_a_builder_that_is_killed_takes_its_processes_along(processes: Processes, tmp_path: Path, pattern: str) -> None:
    running = start_build(processes, tmp_path)
    wait_for_stage(running, tmp_path, pattern)
    children = children_of(running.process.pid)
    running.signal(signal.SIGKILL)
    running.wait()
    eventually(lambda: all(map(is_gone, children)), "its processes are gone")
    check_what_is_left(processes, tmp_path)


@pytest.mark.parametrize("pattern", STAGES)
def test_a_process_that_is_killed_ends_the_build_and_leaves_nothing(
    processes: Processes, tmp_path: Path, pattern: str
) -> None:
    running = start_build(processes, tmp_path)
    wait_for_stage(running, tmp_path, pattern)
    killed = eventually(
        lambda: running.process.poll() is not None or children_of(running.process.pid), "a process to kill"
    )
    if isinstance(killed, list):
        with suppress(ProcessLookupError):
            os.kill(killed[0], signal.SIGKILL)
    code = running.wait()
    said = running.rest()
    if code:
        assert code == 1
        assert "a process of the build was killed by signal 9" in said
        assert "next: waypost snapshot build" in said
        assert count_in_service(tmp_path) == 10
    assert workplaces(tmp_path) == []
    check_what_is_left(processes, tmp_path)


def test_ctrl_c_ends_all_and_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    running = start_build(processes, tmp_path)
    wait_for_stage(running, tmp_path, "lock")
    children = children_of(running.process.pid)
    for pid in (*children, running.process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    # On a busy machine the build may have come to its end before: then it is published, and that is all it says.
    assert running.wait() == 130 or count_in_service(tmp_path) == MANY
    eventually(lambda: all(map(is_gone, children)), "its processes are gone")
    assert workplaces(tmp_path) == []
    check_what_is_left(processes, tmp_path)


@pytest.mark.parametrize("number", ["1", "2"])
@pytest.mark.parametrize("room", [1000, 100_000, 600_000])
def test_a_disk_that_fills_up_is_told_and_the_old_generation_stays(
    processes: Processes, tmp_path: Path, number: str, room: int
) -> None:
    shelve_old(tmp_path)
    write_places(tmp_path / "new.ndjson", COUNT)
    before = sorted(shelf(tmp_path).folder.rglob("*"))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    done = processes.run("snapshot", "build", "--from", "new.ndjson", "--processes", number, preexec=limit)
    assert done.returncode == 1
    assert "the snapshot needs about" in done.stderr
    assert "File too large" in done.stderr
    assert "bytes are free" in done.stderr
    assert sorted(shelf(tmp_path).folder.rglob("*")) == before
    assert count_in_service(tmp_path) == 10


@pytest.mark.parametrize("number", ["1", "2"])
def test_what_is_wrong_with_the_places_is_told_by_name(processes: Processes, tmp_path: Path, number: str) -> None:
    write_places(tmp_path / "places.ndjson", 20)
    lines = (tmp_path / "places.ndjson").read_bytes().splitlines()
    (tmp_path / "twice.ndjson").write_bytes(b"\n".join([*lines, lines[3]]))
    (tmp_path / "broken.ndjson").write_bytes(b"\n".join([*lines, b"{nonsense}", *lines]))
    for name, said in (
        ("twice.ndjson", "two places have the id"),
        ("broken.ndjson", "broken.ndjson, line 21: it is not JSON"),
        ("gone.geojson", "gone.geojson is not there, or is not a file"),
    ):
        done = processes.run("snapshot", "build", "--from", name, "--processes", number)
        assert done.returncode == 1
        assert said in done.stderr
        assert not workplaces(tmp_path)
        assert shelf(tmp_path).current() is None


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_folder_that_cannot_be_written_to_is_told(processes: Processes, tmp_path: Path, number: str) -> None:
    shelve_old(tmp_path)
    write_places(tmp_path / "new.ndjson", 20)
    shelf(tmp_path).folder.chmod(0o555)
    done = processes.run("snapshot", "build", "--from", "new.ndjson", "--processes", number, preexec=obey_permissions)
    shelf(tmp_path).folder.chmod(0o755)
    assert done.returncode == 1
    assert f"the snapshot could not be written in {shelf(tmp_path).folder}: Permission denied" in done.stderr
    assert count_in_service(tmp_path) == 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--processes", "0"], "--processes"),
        (["--memory", "much"], "'much' is not a size; write it like 64k, 32m or 1g"),
    ],
)
def test_options_that_make_no_sense_are_refused(processes: Processes, options: list[str], said: str) -> None:
    done = processes.run("snapshot", "build", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_bomb_is_refused_and_takes_no_more_memory_than_the_bound(processes: Processes) -> None:
    """Two hundred megabytes in one line, packed into one."""
    begin = b'{"type":"Feature","properties":{"name":"'
    peaks = []
    for name, megabytes in (("small", 2), ("bomb", 200)):
        with gzip.open(processes.folder / f"{name}.ndjson.gz", "wb", compresslevel=1) as packed:
            packed.write(begin)
            for _ in range(megabytes):
                packed.write(b"x" * 1_000_000)
        command = ["snapshot", "build", "--from", f"{name}.ndjson.gz", "--processes", "1"]
        running = processes.start(*command, env={"WAYPOST_IMPORT_MAX_ANSWER": "1m"})
        running.wait_for(f"{name}.ndjson.gz, record 1: it is larger than 1048576 bytes")
        _, status, used = os.wait4(running.process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 1
        peaks.append(used.ru_maxrss * 1024)
    assert peaks[1] < peaks[0] + 60_000_000

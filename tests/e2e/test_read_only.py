"""A places server writes nothing: it needs no more than to read the folder of snapshots."""

import urllib.request

import msgspec

from support.processes import Processes, obey_permissions
from support.snapshots import shelve, stations


def test_places_are_served_from_a_folder_that_is_read_only(processes: Processes) -> None:
    folder = processes.folder / "snapshots"
    name = shelve(folder, stations(50))
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    running = processes.start(
        "serve", "places", "--port", "0", "--data", str(processes.folder), preexec=obey_permissions
    )
    url = running.wait_for(r"serves at (http://\S+)")[1]
    with urllib.request.urlopen(f"{url}/v1/places?limit=50") as answer:
        found = msgspec.json.decode(answer.read())
    assert (found["numberMatched"], found["generation"]) == (50, name)
    assert sorted(folder.rglob("*")) == sorted(everything[1:])
    for path in everything:
        path.chmod(0o755 if path.is_dir() else 0o644)

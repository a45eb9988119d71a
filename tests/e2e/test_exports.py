"""An export gets its name once it is complete, and nothing that was there before is lost to one that fails."""

from pathlib import Path

import msgspec
import pytest

from support.processes import Processes, obey_permissions

TARGET = "https://example.org/page"
OLD = "the backup of yesterday\n"


@pytest.fixture
def backup(processes: Processes) -> Path:
    file = processes.folder / "links.ndjson"
    file.write_text(OLD, encoding="utf-8")
    file.chmod(0o600)
    return file


def phrases(text: str) -> list[str]:
    return [msgspec.json.decode(line)["phrase"] for line in text.splitlines()]


@pytest.mark.parametrize("things", ["link", "place"])
def test_an_old_file_survives_an_export_that_fails(processes: Processes, backup: Path, things: str) -> None:
    before = sorted(processes.folder.iterdir())
    failed = processes.run(things, "export", "--output", "links.ndjson", "--data", "nowhere")
    assert failed.returncode != 0
    assert backup.read_text(encoding="utf-8") == OLD
    assert sorted(processes.folder.iterdir()) == before


def test_an_old_file_is_replaced_by_a_whole_one_for_the_same_eyes(processes: Processes, backup: Path) -> None:
    processes.run("link", "create", TARGET, "--phrase", "otter")
    link = processes.folder / "latest"
    link.symlink_to(backup.name)
    before = sorted(processes.folder.iterdir())
    assert processes.run("link", "export", "--output", "latest").returncode == 0
    assert phrases(backup.read_text(encoding="utf-8")) == ["otter"]
    assert (link.is_symlink(), backup.stat().st_mode & 0o777) == (True, 0o600)
    assert sorted(processes.folder.iterdir()) == before


def test_the_standard_output_takes_an_export_by_its_name_too(processes: Processes, backup: Path) -> None:
    processes.run("link", "create", TARGET, "--phrase", "otter")
    assert phrases(processes.run("link", "export", "--output", "/dev/stdout").stdout) == ["otter"]
    with backup.open("w", encoding="utf-8") as file:
        processes.run("link", "export", "--output", "/dev/stdout", stdout=file)
    assert phrases(backup.read_text(encoding="utf-8")) == ["otter"]


def test_a_folder_that_takes_no_file_is_named(processes: Processes) -> None:
    failed = processes.run("link", "export", "--output", "missing/links.ndjson")
    assert (failed.returncode, "Traceback" in failed.stderr) == (2, False)
    assert f"no file can be written in {processes.folder / 'missing'} (No such file or directory)" in failed.stderr
    (processes.folder / "file").touch()
    failed = processes.run("link", "export", "--output", "file/links.ndjson")
    assert (failed.returncode, "(Not a directory); choose another folder" in failed.stderr) == (2, True)


def test_a_name_that_is_no_file_to_write_is_refused(processes: Processes) -> None:
    failed = processes.run("link", "export", "--output", ".")
    assert (failed.returncode, "is a folder; name a file in it" in failed.stderr) == (2, True)


def test_a_file_that_is_protected_is_left_as_it_was(processes: Processes, backup: Path) -> None:
    backup.chmod(0o400)
    failed = processes.run("link", "export", "--output", backup.name, preexec=obey_permissions)
    assert (failed.returncode, f"{backup} is write-protected" in failed.stderr) == (2, True)
    assert backup.read_text(encoding="utf-8") == OLD

"""The repository's own promises: commands that explain themselves, locks that name no host, missing packages named."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
NOBODY = 65534
# Tests of what is no part of the package: the drills' own decisions, and what other tests rely on.
BESIDE_THE_PACKAGE = {"drills", "support"}


def test_make_help_lists_every_command() -> None:
    listed = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout
    for target in ("setup", "up", "test", "test-unit", "flaky", "check", "screenshots", "pictures"):
        assert re.search(rf"^  {target} +\S", listed, re.MULTILINE), target


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_locked_package_has_a_hash_and_no_host_is_named(lock: str) -> None:
    text = (ROOT / lock).read_text()
    packages = re.findall(
        r"^([a-z0-9.-]+)==\S+((?: ;.*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE
    )
    assert len(packages) == len(re.findall(r"^[a-z0-9.-]+==", text, re.MULTILINE)) > 20
    assert not re.search(r"https?://|--index-url|--find-links", text)


def test_the_development_lock_holds_the_other_one() -> None:
    pinned = {
        name: set(re.findall(r"^[a-z0-9.-]+==[^\s;]+", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    }
    assert pinned["requirements.lock"] < pinned["requirements-dev.lock"]


@pytest.fixture
def tools_without_sudo() -> Iterator[str]:
    """A search path that anybody may read, with all that the script needs but no way to become root."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name in ("bash", "id", "dpkg-query", "apt-get"):
            found = shutil.which(name)
            assert found, name
            (Path(folder) / name).symlink_to(found)
        yield folder


def test_without_root_and_sudo_the_missing_packages_are_named(tools_without_sudo: str) -> None:
    done = subprocess.run(
        ["/bin/bash", "-s", "--", "bash", "no-such-package", "nor-this-one"],
        input=(ROOT / "tools" / "install-system").read_text(),
        env={"PATH": tools_without_sudo},
        user=NOBODY if os.getuid() == 0 else None,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].strip() == "apt-get install no-such-package nor-this-one"


def test_what_is_installed_already_needs_nobody() -> None:
    done = subprocess.run([ROOT / "tools" / "install-system", "bash"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_tests_of_a_module_are_found_by_its_path() -> None:
    unit, source = ROOT / "tests" / "unit", ROOT / "src" / "waypost"
    tested = {str(test.parent.relative_to(unit)) for test in unit.rglob("test_*.py")}
    assert [folder for folder in sorted(tested - BESIDE_THE_PACKAGE) if not (source / folder).is_dir()] == []
    alone = [test.name for test in unit.glob("test_*.py") if not (source / test.name.removeprefix("test_")).is_file()]
    assert alone == []


def test_the_workflow_does_what_must_pass_on_every_python_that_is_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", step["uses"]) for step in job["steps"] if "uses" in step)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {name.rpartition(" ")[2] for name in project["classifiers"] if " :: 3." in name}
    # The newest is tried before it is promised.
    assert promised <= set(job["strategy"]["matrix"]["python"]) == {"3.11", "3.12", "3.13", "3.14"}


def test_what_must_pass_tells_its_slowest_tests_and_its_time() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    assert "make check" in run
    assert 'make test ARGS="--durations=10"' in run
    assert "trap" in run


@pytest.mark.parametrize(("made", "expected"), [(None, ".venv"), ("3.99", ".venv-{0}.{1}")])
def test_a_python_of_another_version_gets_an_environment_of_its_own(
    tmp_path: Path, made: str | None, expected: str
) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "which-venv", tmp_path / "tools")
    if made:
        python = tmp_path / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\necho {made}\n")
        python.chmod(0o755)
    told = subprocess.run(
        [tmp_path / "tools" / "which-venv", sys.executable], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == expected.format(*sys.version_info)
    assert (f".venv has Python {made}" in told.stderr) == bool(made)


def test_a_public_class_name_exists_once() -> None:
    named = [
        found
        for path in sorted((ROOT / "src").rglob("*.py"))
        for found in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert [name for name, times in Counter(named).items() if times > 1] == []

"""A process of one system: `install` makes its tables, `client` obeys its standard input, a command a line, `worker`
does jobs and counts them, `telling-worker` does jobs and tells when each began.

Its answers are times of the machine's monotonic clock, in nanoseconds, which all processes share.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import uvloop

from bench.jobs.counter import shared_number
from bench.jobs.systems import System, load

_POLL_SECONDS = 0.01


def _say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def _count(system: System, path: Path) -> None:
    with path.open("r+b") as file:
        number = shared_number(file)

    def on_start() -> None:
        number[0] += 1

    await system.open()
    _say("up")
    await system.work(on_start)


async def _tell(system: System) -> None:
    await system.open()
    _say("up")
    await system.work(lambda: _say(time.monotonic_ns()))


async def _enqueue(system: System, count: int) -> None:
    began = time.monotonic_ns()
    await system.enqueue(count)
    _say(began, time.monotonic_ns())


async def _wait(system: System) -> None:
    while not await system.is_finished():  # noqa: ASYNC110 - a queue tells nobody that it is empty
        await asyncio.sleep(_POLL_SECONDS)
    _say(time.monotonic_ns())


async def _obey(system: System) -> None:
    await system.open()
    _say("up")
    while line := await asyncio.to_thread(sys.stdin.readline):
        match line.split():
            case ["enqueue", count]:
                await _enqueue(system, int(count))
            case ["wait"]:
                await _wait(system)


def main() -> None:
    role, name, url = sys.argv[1:4]
    system = load(name, url)
    match role:
        case "install":
            uvloop.run(system.install())
        case "client":
            uvloop.run(_obey(system))
        case "worker":
            uvloop.run(_count(system, Path(sys.argv[4])))
        case "telling-worker":
            uvloop.run(_tell(system))


if __name__ == "__main__":
    main()

"""A task is ended even if whatever it awaits loses a cancellation."""

import asyncio

from waypost.kernel.tasks import end


def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    lost = 0

    async def stubborn() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                lost += 1
                if lost == 2:
                    raise

    async def main() -> None:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        await end(task)
        assert task.cancelled()

    asyncio.run(main())


def test_what_a_task_raised_on_its_way_out_is_not_raised_again() -> None:
    async def failing() -> None:
        raise ValueError("on its way out")

    async def main() -> None:
        task = asyncio.create_task(failing())
        await asyncio.sleep(0)
        await end(task)

    asyncio.run(main())

"""The command `waypost job`, and its verbs."""

import asyncio

import click

from waypost.cli.frame import Group, Load, json_option, print_json, say, with_settings
from waypost.scaling.jobs.job import STATUSES, Job, Status

group = Group(
    "job", help="The work on each shard.", examples=("waypost job list --status dead", "waypost job revive --all")
)


@group.command("list", examples=("waypost job list", "waypost job list --status dead --json"))
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs with this status.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="At most so many.")
@json_option
@with_settings
def list_jobs(load: Load, status: Status | None, limit: int, *, as_json: bool) -> None:
    """Jobs, oldest first, with the reason why the last try failed."""
    from waypost.bootstrap import open_stores

    async def work() -> list[Job]:
        async with open_stores(load()) as stores:
            return list(await stores.jobs.list(status=status, limit=limit))

    jobs = asyncio.run(work())
    if as_json:
        print_json(jobs)
        return
    for job in jobs:
        click.echo(f"{job.status:<9} {job.shard}  {job.last_error_message or ''}".rstrip())
    if not jobs:
        say("no jobs; next: waypost import run --source ocm --country DE,FR")


@group.command("revive", examples=("waypost job revive ocm/country:DE/full:2026-02-21", "waypost job revive --all"))
@click.argument("shards", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All dead jobs.")
@with_settings
def revive(load: Load, shards: tuple[str, ...], *, everything: bool) -> None:
    """Give dead jobs another chance; the next import works on them."""
    from waypost.bootstrap import open_stores

    if everything == bool(shards):
        raise click.UsageError("name the shards to revive, or say --all")

    async def work() -> int:
        async with open_stores(load()) as stores:
            return await stores.jobs.revive(None if everything else shards)

    click.echo(f"revived {asyncio.run(work())}")

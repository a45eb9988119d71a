"""The command `waypost job`, and its verbs."""

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json
from waypost.cli.job_choice import filters, read_choice
from waypost.cli.job_view import views_of
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, NotFound
from waypost.kernel.quantities import parse_duration
from waypost.scaling.jobs.job import Job, Lease, Status
from waypost.scaling.jobs.store import release_chosen, revive_chosen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waypost.scaling.jobs.store import JobStore
    from waypost.settings import Settings

Result = TypeVar("Result")

_PRUNED: tuple[Status, ...] = ("done", "cancelled")

group = Group(
    "job",
    help="The work on each shard.",
    examples=("waypost job list --status dead", "waypost job revive --all", "waypost job watch"),
)


class UnknownJob(NotFound):
    """No job has this shard key or id."""

    slug = "unknown-job"


class NotLeased(Conflict):
    """Only a job that a worker holds can be taken from it."""

    slug = "not-leased"


def with_jobs(settings: "Settings", work: "Callable[[JobStore], Awaitable[Result]]") -> Result:
    from waypost.cli.stores import with_stores

    return with_stores(settings, lambda stores: work(stores.jobs))


async def find(jobs: "JobStore", name: str) -> Job:
    job = await jobs.get(name)
    if job is None:
        raise UnknownJob(f"there is no job {name[:200]!r}", next_step="waypost job list")
    return job


@group.command("list", examples=("waypost job list", "waypost job list --status dead --prefix ocm/country:DE --json"))
@filters(most=1000)
@with_json
def list_jobs(load: Load, status: Status | None, prefix: str, limit: int, *, as_json: bool) -> None:
    """Jobs, oldest first, with what they wait for, and the reason why the last try failed."""
    jobs = views_of(with_jobs(load(), lambda store: store.list(status=status, prefix=prefix, limit=limit)), utc_now())
    if as_json:
        print_json(jobs)
        return
    for job in jobs:
        waits = f"(waits for {job.waits_for})" if job.waits_for else ""
        print_line("  ".join(filter(None, (f"{job.status:<9} {job.shard}", waits, job.last_error_message))))
    if not jobs:
        say("no such jobs")
    elif status == "dead":
        say("next, unless a job says something else, once the reason is gone: waypost job revive --all")


@group.command("show", examples=("waypost job show ocm/country:DE/full:2026-02-21", "waypost job show … --json"))
@click.argument("shard")
@with_json
def show(load: Load, shard: str, *, as_json: bool) -> None:
    """Everything about one job, by its shard key or its id."""
    job = with_jobs(load(), lambda store: find(store, shard))
    if as_json:
        print_json(job)
        return
    for name in Job.__struct_fields__:
        value = getattr(job, name)
        print_line(f"{name:<20} {'-' if value is None else value}")


@group.command("revive", examples=("waypost job revive ocm/country:DE/full:2026-02-21", "waypost job revive --all"))
@click.argument("shards", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All dead jobs.")
@filters(most=None)
@with_json
def revive(
    load: Load,
    shards: tuple[str, ...],
    status: Status | None,
    prefix: str,
    limit: int | None,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Give dead jobs another chance; the next worker or import works on them."""
    chosen = read_choice(status, prefix, limit, able=("dead",))
    if [everything, bool(shards), chosen is not None].count(True) != 1:
        raise click.UsageError(
            "name the shards to revive, or choose them by --prefix, --status or --limit, or say --all"
        )
    if chosen:
        _say_number("revived", with_jobs(load(), partial(revive_chosen, chosen=chosen)), as_json=as_json)
        return
    revived = with_jobs(load(), lambda store: store.revive(None if everything else shards))
    if not revived and shards:
        raise UnknownJob("none of these is a dead job", next_step="waypost job list --status dead")
    _say_number("revived", revived, as_json=as_json)


@group.command("release", examples=("waypost job release ocm/country:DE/full:2026-02-21",))
@click.argument("shard", required=False)
@filters(most=None)
@with_json
def release(
    load: Load, shard: str | None, status: Status | None, prefix: str, limit: int | None, *, as_json: bool
) -> None:
    """Take a job from the worker that holds it and make it pending; or all those that are chosen.

    The worker notices at its next write, which is refused: its fence is no longer current.
    """
    chosen = read_choice(status, prefix, limit, able=("leased",))
    if chosen and not shard:
        _say_number("released", with_jobs(load(), partial(release_chosen, chosen=chosen)), as_json=as_json)
        return
    if chosen or not shard:
        raise click.UsageError("name the job to release, or choose some by --prefix, --status or --limit")
    job = with_jobs(load(), partial(_release_one, shard=shard))
    print_result(job, f"{job.shard} is {job.status}", as_json=as_json)


async def _release_one(store: "JobStore", shard: str) -> Job:
    job = await find(store, shard)
    if job.status != "leased":
        raise NotLeased(f"{job.shard} is {job.status}; only a leased job can be released")
    await store.release(Lease(job.id, job.shard, job.fence, job.attempts, job.cursor), counted={})
    return await find(store, shard)


@group.command("prune", examples=("waypost job prune --older-than 30d", "waypost job prune --older-than 7d --dead"))
@click.option("--older-than", default="30d", show_default=True, help="Only jobs that ended at least this long ago.")
@click.option("--dead", is_flag=True, help="Dead jobs too, with the reasons they keep.")
@filters(most=None)
@with_json
def prune(
    load: Load, older_than: str, status: Status | None, prefix: str, limit: int | None, *, dead: bool, as_json: bool
) -> None:
    """Forget jobs that are done or cancelled, and records that were rejected as long ago. Their shards may be enqueued
    again. With filters, only jobs are forgotten.
    """
    from waypost.cli.stores import with_stores
    from waypost.importing.retention import prune as prune_jobs
    from waypost.importing.retention import prune_chosen

    try:
        seconds = parse_duration(older_than)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from None
    chosen = read_choice(status, prefix, limit, able=("done", "cancelled", "dead"))
    if status and dead:
        raise click.UsageError("choose --status or --dead, not both")
    statuses: tuple[Status, ...] = (status,) if status else ("done", "cancelled", "dead") if dead else _PRUNED
    pruned = with_stores(
        load(),
        lambda stores: (
            prune_chosen(stores.imports, stores.jobs, chosen, older_than=seconds, statuses=statuses)
            if chosen
            else prune_jobs(stores.imports, stores.jobs, older_than=seconds, statuses=statuses)
        ),
    )
    _say_number("pruned", pruned, as_json=as_json)


def _say_number(done: str, number: int, *, as_json: bool) -> None:
    print_result({done: number}, f"{done} {number}", as_json=as_json)


@group.command("watch", examples=("waypost job watch", "waypost job watch --json | head -3"))
@click.option("--every", default="1s", show_default=True, help="How often to look.")
@click.option("--times", type=click.IntRange(1), help="Look this many times, then end.")
@with_json
def watch(load: Load, every: str, times: int | None, *, as_json: bool) -> int:
    """The fleet's leases, live, until Ctrl-C: who works on what, how far it is, and how long the lease lasts."""
    from waypost.cli.live import read_every, watch_jobs
    from waypost.roles.kit.event_loop import run as run_role

    seconds, settings = read_every(every), load()
    _, stop = run_role(lambda stop: watch_jobs(settings, stop, every=seconds, times=times, as_json=as_json))
    return stop.exit_code

"""What `waypost import` prints."""

from typing import TYPE_CHECKING

from waypost.cli.frame import print_line, say

if TYPE_CHECKING:
    from waypost.importing.imports import DetailedReport, ImportReport, ImportStanding, ShardReport
    from waypost.importing.source import Scope


def print_standing(standing: "ImportStanding") -> None:
    done = sum(standing.shards.get(name, 0) for name in ("done", "dead", "cancelled"))
    started = standing.started_at.strftime("%Y-%m-%d %H:%M:%SZ")
    print_line(f"{standing.id}  {standing.status:<9}  {started}  {done} of {sum(standing.shards.values())} shards")


def print_counts(report: "ImportReport") -> None:
    print_line(
        f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.removed} removed,"
        f" {report.rejected} rejected in {report.seconds:.1f} s"
    )
    shards = ", ".join(f"{count} {status}" for status, count in report.shards.items())
    print_line(f"shards: {shards}; requests: {report.requests}, {report.retries} retried, {report.refusals} refused")
    if report.unsure:
        print_line(
            f"nothing was removed from {report.unsure} shards: their lists moved while they were read, or had records"
            " without an id; the next refresh looks again"
        )


def print_shards(report: "DetailedReport", most: int | None) -> None:
    """The slowest first. What has taken no time yet comes last, in the order of the plan."""
    slowest = sorted(report.by_shard, key=lambda each: -each.seconds)
    for each in slowest[:most]:
        print_line(_shard_line(each))
    if left := len(slowest[most:]) if most is not None else 0:
        say(f"and {left} more shards; all of them: waypost import report {report.id} --all-shards")


def print_rejects(report: "DetailedReport") -> None:
    for each in report.rejects:
        print_line(f"rejected  {each.external_id or 'a record without an id'}  {each.shard}  {each.reason}")
    if 0 < len(report.rejects) < report.rejected:
        say(f"these are {len(report.rejects)} of the rejected records")


def _shard_line(shard: "ShardReport") -> str:
    counts = f"{shard.requests:>6} requests {shard.places:>8} places"
    reason = f"  {shard.last_error_message}" if shard.status == "dead" and shard.last_error_message else ""
    unsure = "  nothing removed" if shard.unsure else ""
    return f"{shard.status:<9} {shard.seconds:>9.1f} s {counts}  {shard.shard}{unsure}{reason}"


def print_ended(report: "ImportReport", scope: "Scope") -> None:
    print_counts(report)
    if report.rejected:
        say(f"why records were rejected: waypost import report {report.id}")
    if report.shards.get("dead"):
        say("some shards failed for good; next: waypost job list --status dead")
    elif not report.requests and not report.shards.keys() - {"done"}:
        say(f"nothing to do: this scope was imported {'' if scope.since else 'today '}already")

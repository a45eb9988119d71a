"""The command `waypost report`, and its verbs."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.sharing.reports.report import AbuseReport

_WIDEST = 60

group = Group(
    "report",
    help="Reports of abuse: what visitors say about links.",
    examples=("waypost report list", "waypost report show ID", "waypost report close ID --disable"),
)


@group.command("list", examples=("waypost report list", "waypost report list --status all --json"))
@click.option(
    "--status", type=click.Choice(("open", "closed", "all")), default="open", show_default=True, help="Which reports."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most this many.")
@with_json
def list_reports(load: Load, status: str, limit: int, *, as_json: bool) -> None:
    """Reports, oldest first, with what their links are."""
    from waypost.cli.stores import with_links
    from waypost.sharing.reports.store import WantedReports

    wanted = WantedReports(status="open" if status == "open" else "closed" if status == "closed" else None)
    found = with_links(load(), lambda stores: stores.reports.page(wanted, "", limit))
    if as_json:
        print_json({"reports": found})
        return
    for report in found:
        text = _safe(report.text)
        short = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
        print_line(f"{report.id}  {report.at:%Y-%m-%d}  {_state(report):<9}  {report.phrase:<32}  {short}")
    if not found:
        say("no such reports")


@group.command("show", examples=("waypost report show 0191d4a5-…", "waypost report show 0191d4a5-… --json"))
@click.argument("report", metavar="ID")
@with_json
def show(load: Load, report: str, *, as_json: bool) -> None:
    """A report, with where its link leads."""
    from waypost.cli.stores import with_links
    from waypost.sharing.reports.operations import show_report

    found = with_links(load(), lambda stores: show_report(stores.reports, report))
    print_result(found, "\n".join(_lines(found)), as_json=as_json)


@group.command("close", examples=("waypost report close 0191d4a5-…", "waypost report close 0191d4a5-… --disable"))
@click.argument("report", metavar="ID")
@click.option("--disable", is_flag=True, help="Disable the link too, and close all its reports.")
@with_json
def close(load: Load, report: str, *, disable: bool, as_json: bool) -> None:
    """Close a report: nothing is wrong with the link, or, with --disable, it leads nowhere from now on."""
    from waypost.access.caller import LOCAL
    from waypost.cli.stores import with_links
    from waypost.sharing.reports.operations import close_report

    async def answer(stores: "SharingStores") -> "AbuseReport":
        return await close_report(stores.reports, stores.links, report, LOCAL.name, disable=disable)

    closed = with_links(load(), answer)
    print_result(closed, f"closed; {closed.phrase} {_now(closed)}", as_json=as_json)


def _lines(report: "AbuseReport") -> list[str]:
    closed = f"{report.closed_at:%Y-%m-%d %H:%M} UTC by {report.closed_by}" if report.closed_at else ""
    facts = [
        ("said on", f"{report.at:%Y-%m-%d %H:%M} UTC"),
        ("about", report.phrase),
        ("leads to", report.target),
        ("which", _now(report)),
        ("is", _state(report)),
        ("closed", closed),
    ]
    return [report.id, *(f"  {name:<9} {_safe(value)}" for name, value in facts if value), _safe(report.text)]


def _state(report: "AbuseReport") -> str:
    return report.outcome or "open"


def _now(report: "AbuseReport") -> str:
    return "is disabled" if report.disabled else "still leads somewhere"


def _safe(text: str) -> str:
    """What strangers wrote is made printable before it is kept; a terminal is not left to rely on that."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)

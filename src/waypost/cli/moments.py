"""Moments and passwords as they are given to commands."""

import sys
from datetime import datetime, timedelta

import click

from waypost.kernel.clock import utc_now
from waypost.kernel.moments import read_moment
from waypost.kernel.quantities import parse_duration


def moment(_ctx: click.Context, _param: click.Parameter, value: str | None) -> datetime | None:
    """For options: ISO 8601, in UTC where no offset is given."""
    if value is None:
        return None
    try:
        return read_moment(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def moment_ahead(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Like `moment`, or a time from now, such as 7d."""
    try:
        return None if value is None else utc_now() + timedelta(seconds=parse_duration(value))
    except OverflowError:
        raise click.BadParameter(f"{value} is longer than anybody lives") from None
    except ValueError:
        return moment(ctx, param, value)


def read_password() -> str:
    """One line: what a person types, or what a script pipes in."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, err=True))
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("--password-stdin reads the password from the standard input, and nothing came")
    return password

"""Moments and passwords as they are given to commands."""

import sys
from datetime import datetime, timedelta

import click

from waypost.cli.frame import read_by
from waypost.kernel.clock import utc_now
from waypost.kernel.moments import read_moment
from waypost.kernel.quantities import parse_duration

# For options: ISO 8601, in UTC where no offset is given.
moment = read_by(read_moment)


@read_by
def moment_ahead(text: str) -> datetime:
    """Like `moment`, or a time from now, such as 7d."""
    try:
        return utc_now() + timedelta(seconds=parse_duration(text))
    except OverflowError:
        raise ValueError(f"{text} is longer than anybody lives") from None
    except ValueError:
        return read_moment(text)


def read_password() -> str:
    """One line: what a person types, or what a script pipes in."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, err=True))
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("--password-stdin reads the password from the standard input, and nothing came")
    return password

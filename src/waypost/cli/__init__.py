"""The commands: noun, then verb. Results go to stdout, everything else to stderr."""

from waypost.cli.frame import run_command
from waypost.cli.root import waypost

__all__ = ["main"]


def main() -> None:
    run_command(waypost)

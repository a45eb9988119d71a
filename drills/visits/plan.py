"""What a drill does, and how much of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """`redirects` are answered at least, and more where nobody was killed or stopped meanwhile.

    `rate` is how many requests a second clients send at most, all together; `seconds` is what it may take.
    """

    redirects: int = 200_000
    seed: int = 0
    servers: int = 4
    rate: int = 8_000
    seconds: float = 300.0
    links: int = 100
    # To each server.
    connections: int = 8
    # In seconds.
    kill_every: float = 1.0

"""How long to wait before another try."""

import random


def full_jitter(attempt: int, *, base: float, cap: float, rng: random.Random) -> float:
    """Seconds before try number `attempt + 1`: anything up to an exponentially growing bound.

    Full jitter spreads clients that failed together; a fixed exponential would bring them back together.
    """
    bound = min(cap, base * 2.0 ** min(attempt - 1, 60))
    return rng.uniform(0, bound)

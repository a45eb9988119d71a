"""throttled-py without bursts, which spaces requests evenly as Waypost does."""

from functools import partial

from bench.budget.systems.throttled import ThrottledLimiter

make = partial(ThrottledLimiter, burst=1)

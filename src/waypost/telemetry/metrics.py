"""Every metric that Waypost has, in one place, so that their names stay one family."""

from bisect import bisect_right
from collections.abc import Sequence

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE_LATEST", "generate_latest"]

HTTP_REQUESTS = Counter("waypost_http_requests", "Requests answered.", ["route", "method", "status"])


class ManyHistogram(Histogram):
    """A histogram that takes many observations in one go, which costs each of them a tenth."""

    def observe_many(self, amounts: Sequence[float]) -> None:
        self._sum.inc(sum(amounts))
        ordered, before = sorted(amounts), 0
        for bound, bucket in zip(self._upper_bounds, self._buckets, strict=True):
            upto = bisect_right(ordered, bound)
            bucket.inc(upto - before)
            before = upto


HTTP_SECONDS = ManyHistogram(
    "waypost_http_request_seconds",
    "Time to answer a request.",
    ["route"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)
HTTP_CONNECTIONS = Gauge("waypost_http_connections", "Open connections of clients.")
HTTP_CONNECTIONS_CLOSED = Counter(
    "waypost_http_connections_closed", "Connections that were closed on clients, by why.", ["reason"]
)
HTTP_REFUSED = Counter("waypost_http_refused", "Requests refused before any route saw them, by why.", ["reason"])
HOT_PATH_DEFECTS = Counter(
    "waypost_hot_path_defects", "Requests that a defect sent the long way, instead of being answered in front of it."
)

JOBS_ENDED = Counter("waypost_jobs_ended", "How work on a leased job ended.", ["how"])
LEASES_HELD = Gauge("waypost_leases_held", "Leases in this process's hands.")
LEASE_RENEWALS = Counter("waypost_lease_renewals", "Renewals, by what came of them.", ["outcome"])

SCHEDULE_ENQUEUED = Counter("waypost_schedule_enqueued", "Jobs that schedules have added.", ["schedule"])
SCHEDULE_COVERED = Gauge(
    "waypost_schedule_covered_until_seconds", "Unix time up to which a schedule has enqueued everything.", ["schedule"]
)
SCHEDULE_DEAD = Gauge("waypost_schedule_dead_jobs", "Dead jobs of a schedule.", ["schedule"])
SCHEDULE_OVERDUE = Gauge(
    "waypost_schedule_overdue_seconds", "How long a schedule is overdue; 0 when it is not.", ["schedule"]
)
JOBS_DEAD = Gauge("waypost_jobs_dead", "Dead jobs in the store, as a scheduler last saw it.")

BUDGET_WAIT_SECONDS = Histogram(
    "waypost_budget_wait_seconds",
    "Time that requests waited for their turn in a provider's budget.",
    ["provider"],
    buckets=(0.001, 0.01, 0.1, 0.5, 1, 5, 30, 60, 300),
)

BUDGET_PACE = Gauge("waypost_budget_pace", "The share of its rate that a budget is used at.", ["provider", "budget"])
BUDGET_PENALTIES = Counter(
    "waypost_budget_penalties", "Refusals by a provider that stopped all requests.", ["provider"]
)
BUDGET_WITHOUT_STORE = Counter(
    "waypost_budget_without_store", "Turns asked for while the budget's store was away.", ["provider", "mode"]
)

PROVIDER_REQUESTS = Counter("waypost_provider_requests", "Requests to providers.", ["provider", "outcome"])
PLACES_WRITTEN = Counter("waypost_places", "Places brought by pages, by what they changed.", ["change"])

SNAPSHOT_PLACES = Gauge("waypost_snapshot_places", "Places in the generation that is being served.")
SNAPSHOT_OPENED = Counter("waypost_snapshot_opens", "Generations opened, by outcome.", ["outcome"])

LINKS_CREATED = Counter("waypost_links_created", "Links created.")
REDIRECTS = Counter("waypost_redirects", "Redirect requests, by outcome.", ["outcome"])
ABUSE_REPORTS = Counter("waypost_abuse_reports", "Reports of links.", ["outcome"])
ABUSE_REPORTS_OPEN = Gauge("waypost_abuse_reports_open", "Reports of links that nobody has answered yet.")
VISITS_SPOOLED = Counter("waypost_visits_spooled", "Visits written to the local spool.")
VISITS_LOST = Counter(
    "waypost_visits_lost", "Visits that could not be spooled or set aside; the redirect was answered all the same."
)
VISITS_SET_ASIDE = Counter("waypost_visits_set_aside", "Lines of the spool that cannot be counted, kept in a file.")
VISITS_SHIPPED = Counter("waypost_visits_shipped", "Visits moved from the spool to the store.")

"""One tree of errors for the whole product.

    WaypostError
    ├── TransientError         worth another try
    │   ├── NotNow             nobody's fault; worth another try after a known time
    │   └── StoreTrouble       the store is away, busy or full: no job is at fault
    └── TerminalError          trying again changes nothing
        ├── AskedWrongly       the caller must ask differently (exit code 2, HTTP 400)
        ├── Forbidden          the caller may not (HTTP 403)
        ├── NotFound           there is no such thing (HTTP 404)
        └── Conflict           it conflicts with what is there (HTTP 409)

Rooms derive their own errors from these. Each has a stable slug that scripts may rely on, a message that says what
happened, and, where there is one, the next step a person should take.
"""

from typing import ClassVar


class WaypostError(Exception):
    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return self.message


class TransientError(WaypostError):
    slug = "transient"
    http_status = 503


class NotNow(TransientError):
    slug = "not-now"

    def __init__(self, message: str, *, retry_in: float, next_step: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.retry_in = retry_in


class StoreTrouble(TransientError):
    slug = "store-trouble"


class TerminalError(WaypostError):
    slug = "terminal"


class AskedWrongly(TerminalError):
    slug = "asked-wrongly"
    exit_code = 2
    http_status = 400

    def __init__(self, message: str, *, next_step: str | None = None, parameter: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.parameter = parameter


class Forbidden(TerminalError):
    slug = "forbidden"
    http_status = 403


class NotFound(TerminalError):
    slug = "not-found"
    http_status = 404


class Conflict(TerminalError):
    slug = "conflict"
    http_status = 409

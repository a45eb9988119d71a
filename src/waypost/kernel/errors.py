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
happened, and, where there is one, the next step a person should take. Where the message names files or servers of ours,
those outside are told `outside` instead.

The slug is the class's name in other letters, `store-away` for StoreAway, unless the class says another one. A class
that gets a new name therefore says its old slug; a test knows them all.
"""

import re
from typing import ClassVar


class WaypostError(Exception):
    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    # Instead of messages that name a file or a server.
    told_outside: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "slug" not in vars(cls):
            cls.slug = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.outside = self.told_outside or message
        self.next_step = next_step

    def __str__(self) -> str:
        return self.message


class TransientError(WaypostError):
    slug = "transient"
    http_status = 503


class NotNow(TransientError):
    def __init__(self, message: str, *, retry_in: float, next_step: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.retry_in = retry_in


class StoreTrouble(TransientError):
    told_outside = "the store cannot be used right now"


class TerminalError(WaypostError):
    slug = "terminal"


class AskedWrongly(TerminalError):
    exit_code = 2
    http_status = 400

    def __init__(self, message: str, *, next_step: str | None = None, parameter: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.parameter = parameter


class Forbidden(TerminalError):
    http_status = 403


class NotFound(TerminalError):
    http_status = 404


class Conflict(TerminalError):
    http_status = 409

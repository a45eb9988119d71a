"""What is sent to a MongoDB server."""

from typing import Any

from pymongo import monitoring


class Commands(monitoring.CommandListener):
    """Keeps what is sent to the server."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.sent.append(dict(event.command))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass

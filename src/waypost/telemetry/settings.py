"""What can be set about logs."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.telemetry.logs import parse_level


@dataclass(frozen=True)
class TelemetrySettings:
    level: str = setting("log.level", "info", "least level logged: debug, info, warning, error", parse_level)

"""Structured logs on stderr: pretty on a terminal, one JSON object per line elsewhere."""

import logging
import sys
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO, cast

from waypost.kernel.configuration import redact_url, setting
from waypost.kernel.text import harmless
from waypost.telemetry.rated_log import LibraryLineRate

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

    Logger = FilteringBoundLogger

# A field with one of these in its name may carry a key or a password: its value is never logged.
_SECRET_WORDS = ("key", "password", "secret", "token", "authorization", "cookie")


def get_logger(room: str) -> "FilteringBoundLogger":
    return cast("FilteringBoundLogger", _Logger(room))


class _Logger:
    """Every module has one, and most commands end without a line in the log: structlog is loaded for the first line."""

    def __init__(self, room: str) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        import structlog  # noqa: PLC0415 - as said above

        return getattr(structlog.get_logger(room=self._room), name)


class _Stderr:
    """Whatever sys.stderr is at the moment of writing: a progress bar on a terminal puts itself in between."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logs(level: str) -> None:
    import structlog  # noqa: PLC0415 - it brings its own colours and tracebacks, which `--help` has no use for

    stream = cast("TextIO", _Stderr())
    pretty = sys.stderr.isatty()
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if pretty else "iso", utc=not pretty),
    ]
    if pretty:
        render: list[Any] = [_redact, _make_harmless, structlog.dev.ConsoleRenderer(exception_formatter=_traceback)]
    else:
        # Without the values of local variables: keys are among them.
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        render = [structlog.processors.ExceptionRenderer(tracebacks), _redact, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
            foreign_pre_chain=shared,
        )
    )
    handler.addFilter(LibraryLineRate())
    # Libraries use the standard logger; only their warnings and errors are of interest.
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def parse_level(text: str) -> str:
    if text.lower() not in {"debug", "info", "warning", "error"}:
        raise ValueError(f"{text!r} is not a log level; use debug, info, warning or error")
    return text.lower()


def _redact(_logger: "WrappedLogger", _method: str, event: "EventDict") -> "EventDict":
    return cast("EventDict", _redacted(event))


def _make_harmless(_logger: "WrappedLogger", _method: str, event: "EventDict") -> "EventDict":
    """Others may have written what is logged: a terminal is given nothing to obey. Only texts are shown as they are."""
    return {name: harmless(value) if isinstance(value, str) else value for name, value in event.items()}


def _traceback(out: TextIO, raised: Any) -> None:
    import structlog  # noqa: PLC0415 - as above

    text = StringIO()
    structlog.dev.plain_traceback(text, raised)
    out.write(harmless(text.getvalue()))


def _redacted(value: Any) -> Any:
    """The value with stars for fields whose names sound secret and for passwords inside URLs, however deep they are."""
    if isinstance(value, dict):
        return {name: "***" if _is_secret(name) else _redacted(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return redact_url(value) if isinstance(value, str) else value


def _is_secret(name: object) -> bool:
    return any(word in str(name).lower() for word in _SECRET_WORDS)


@dataclass(frozen=True)
class TelemetrySettings:
    level: str = setting("log.level", "info", "least level logged: debug, info, warning, error", parse_level)

"""Errors over HTTP: problem+json (RFC 9457), with a stable slug and, where there is one, the parameter at fault."""

from math import ceil
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from waypost.kernel.errors import AskedWrongly, NotNow, WaypostError
from waypost.telemetry.logs import get_logger
from waypost.telemetry.rated_log import RatedLog

rated = RatedLog(get_logger("web"))

_TITLES = {
    400: "The request cannot be understood",
    401: "A valid key is needed",
    403: "Not allowed",
    404: "Not found",
    405: "This method is not for this address",
    408: "The request came too slowly",
    409: "It conflicts with what is there",
    410: "Gone",
    412: "It was changed in the meantime",
    413: "The request is too large",
    415: "This content type is not accepted",
    429: "Too many at once",
    431: "The headers are too large",
    500: "Something went wrong in Waypost",
    503: "Not possible right now",
}


def problem_document(status: int, slug: str, detail: str, **more: Any) -> bytes:
    body = {"type": f"urn:waypost:{slug}", "title": _TITLES.get(status, "Problem"), "status": status, "detail": detail}
    return msgspec.json.encode(body | {name: value for name, value in more.items() if value is not None})


def problem(status: int, slug: str, detail: str, **more: Any) -> Response:
    return Response(
        problem_document(status, slug, detail, **more),
        status_code=status,
        media_type="application/problem+json",
        headers={"Cache-Control": "no-store"},
    )


def from_error(error: WaypostError) -> Response:
    parameter = error.parameter if isinstance(error, AskedWrongly) else None
    answer = problem(error.http_status, error.slug, error.outside, parameter=parameter)
    if error.http_status == 401:  # noqa: PLR2004 - not recognised
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, NotNow):
        answer.headers["Retry-After"] = str(ceil(error.retry_in))
    return answer


def add_problem_handlers(app: FastAPI) -> None:
    app.add_exception_handler(WaypostError, _on_waypost_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_defect)


async def _on_waypost_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, WaypostError)
    return from_error(error)


async def _on_validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "body"
    return problem(400, "bad-parameter", f"{where}: {first['msg']}", parameter=where)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:  # noqa: PLR2004 - not found
        return problem(404, "not-found", f"there is nothing at {request.url.path[:200]}")
    answer = problem(error.status_code, "http-error", str(error.detail))
    answer.headers.update(error.headers or {})
    if error.status_code == 405 and (methods := _methods_at(request)):  # noqa: PLR2004 - this method is not allowed
        answer.headers["Allow"] = methods
    return answer


def _methods_at(request: Request) -> str:
    """The methods described for this address: of several routes there, the framework names only the first one's."""
    path = getattr(request.scope.get("route"), "path_format", None)
    return ", ".join(method.upper() for method in request.app.openapi()["paths"].get(path, ()))


async def _on_defect(request: Request, error: Exception) -> Response:
    rated.error("a request ended with a defect", error, path=request.url.path)
    return problem(500, "defect", "an error that should not happen; the log has the details")

"""The API's description as OpenAPI 3.0, which OGC API Features asks for (FastAPI writes 3.1), and its routes."""

from functools import cache
from html import escape
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Response

from waypost.web.http.page_frame import framed_page
from waypost.web.http.routing import readable

# As OGC API Features names it.
_OPENAPI = "application/vnd.oai.openapi+json;version=3.0"
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a key, made with `waypost key create`"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "the same key"},
}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "urn:waypost: and a stable slug"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "parameter": {"type": "string", "description": "the parameter at fault, where there is one"},
    },
}


def describe(app: FastAPI) -> None:
    """Writes the description once, when it is first asked for: that takes longer than putting all routes together."""
    app.openapi_version = "3.0.3"
    write = app.openapi

    @cache
    def openapi() -> dict[str, Any]:
        description = write()
        _describe_problems(description)
        written: dict[str, Any] = _as_3_0(description)
        return written

    app.openapi = openapi  # type: ignore[method-assign] # as FastAPI's documentation has it


def documentation_routes(app: FastAPI) -> APIRouter:
    """A documentation page made here: FastAPI's own would load scripts from elsewhere."""
    router = APIRouter(include_in_schema=False)

    async def docs() -> Response:
        operations = [
            (method.upper(), path, operation.get("description", ""))
            for path, methods in app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        rows = "".join(
            f"<dt><code>{escape(method)} {escape(path)}</code></dt><dd>{escape(text)}</dd>"
            for method, path, text in operations
        )
        return framed_page(
            200, "The API", f'<p>As OpenAPI: <a href="/openapi.json">/openapi.json</a></p><dl>{rows}</dl>'
        )

    async def openapi() -> Response:
        return Response(msgspec.json.encode(app.openapi()), headers={"Content-Type": _OPENAPI})

    readable(router, "/docs", docs)
    readable(router, "/openapi.json", openapi)
    return router


def _describe_problems(description: dict[str, Any]) -> None:
    """FastAPI would promise 422 in a format of its own, where we answer 400 with a problem."""
    answer = {
        "description": "A problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for operation in (each for methods in description["paths"].values() for each in methods.values()):
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = answer
    components = description.setdefault("components", {})
    components["securitySchemes"] = _KEYS
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = _PROBLEM


def _as_3_0(part: Any) -> Any:
    """Rewrites 3.1 as 3.0, where a value that may be null is `nullable`, and a schema has one `example`."""
    if isinstance(part, list):
        return [_as_3_0(each) for each in part]
    if not isinstance(part, dict):
        return part
    written = {name: _as_3_0(each) for name, each in part.items()}
    options = written.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        others = [each for each in options if each != {"type": "null"}]
        del written["anyOf"]
        written |= others[0] if len(others) == 1 else {"anyOf": others}
        written["nullable"] = True
    if isinstance(examples := written.pop("examples", None), list):
        written["example"] = examples[0]
    return written

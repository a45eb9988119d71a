"""What goes in and out of the routes of links, for the API's description: from the structs that read and write it."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import Path

Described = dict[str, Any]
Answers = dict[int | str, Described]

PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
NDJSON = "application/x-ndjson"
# Any of these; the first is for this machine, and for callers with an edit token.
SECURITY: list[Described] = [{}, {"bearer": []}, {"key": []}]


def schema_of(kind: Any) -> Described:
    """A struct's schema, with what it refers to put where it is referred to."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    found: Described = _inlined(schema, parts)
    return found


def _inlined(part: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(part, list | tuple):
        return [_inlined(each, parts) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(parts[part["$ref"]], parts)
    return {name: _inlined(each, parts) for name, each in part.items()}


def gives(description: str, kind: Any, media_type: str = "application/json", **headers: str) -> Described:
    """An answer with this body, and these headers with what they mean."""
    described = {
        name.replace("_", "-"): {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
    }
    content = {media_type: {"schema": schema_of(kind)}}
    return {"description": description, "content": content} | ({"headers": described} if described else {})


def refuses(*slugs: str) -> Described:
    """An answer that is a problem of one of these kinds."""
    return {"description": f"A problem: {', '.join(slugs)}", "content": PROBLEM}


def takes(kind: Any, *media_types: str) -> Described:
    content = {media_type: {"schema": schema_of(kind)} for media_type in media_types or ("application/json",)}
    return {"requestBody": {"required": True, "content": content}}


def header(name: str, explain: str, schema: Described) -> Described:
    return {"name": name, "in": "header", "required": False, "description": explain, "schema": schema}


Phrase = Annotated[
    str,
    Path(
        max_length=200,
        description="the link's phrase; case, accents and separators do not count",
        examples=["gently-golden-otter"],
    ),
]
EDIT_TOKEN = header("X-Edit-Token", "the token that the link's maker, who had no key, was given", {"type": "string"})
IDEMPOTENCY_KEY = header(
    "Idempotency-Key",
    "if it is sent again with the same request, the answer is the same and nothing more is made",
    {"type": "string", "pattern": "^[!-~]{1,200}$"},
)
IF_MATCH = header(
    "If-Match", "the ETag of the link as you know it; refused with 412 if it was changed since", {"type": "string"}
)

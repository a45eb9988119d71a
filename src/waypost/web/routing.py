"""Routes that are read: HEAD answers whatever GET does, without the body."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response


def readable(router: APIRouter, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
    """Described once, as GET: a second description with the same name would confuse whoever generates a client."""
    router.add_api_route(path, endpoint, methods=["GET"], response_class=Response, **more)
    router.add_api_route(
        path, endpoint, methods=["HEAD"], response_class=Response, **more | {"include_in_schema": False}
    )

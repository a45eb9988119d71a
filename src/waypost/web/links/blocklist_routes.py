"""Blocked hosts and words over HTTP, for administrators. What is changed here holds at once in this process."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request, Response

from waypost.sharing.blocks.block import Block, BlockKind
from waypost.web.http.authentication import Asker, WriteGuard
from waypost.web.http.parameters import Parameters
from waypost.web.http.routing import readable
from waypost.web.links.link_access import admit_admin
from waypost.web.links.openapi import SECURITY, gives, refuses
from waypost.web.links.route_dependencies import LinkParts

_NO_PARAMETERS = Parameters()
_NO_STORE = {"Cache-Control": "no-store"}
_ONE = "/v1/blocks/{kind}/{value}"
Kind = Annotated[BlockKind, Path(description="whether it is a host or a word")]
Value = Annotated[str, Path(max_length=300, description="the host, or the word", examples=["bad.example.org"])]


class BlockList(msgspec.Struct, frozen=True):
    """By kind and value. Hosts that are blocked by the settings are not among them."""

    blocks: Sequence[Block]


def block_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["blocks"])
    blocks = parts.follow.blocks

    async def admin(request: Request) -> Asker:
        asker = await admit_admin(guard, request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        return asker

    async def list_blocks(request: Request) -> Response:
        """Hosts that no link leads to, and words that no new phrase has."""
        await admin(request)
        return _answer(BlockList(await blocks.list()))

    async def add(request: Request, kind: Kind, value: Value) -> Response:
        """Block a host and all below it, or a word. Links that lead there already lead nowhere from now on."""
        asker = await admin(request)
        return _answer(await blocks.add(kind, value, asker.caller.name))

    async def remove(request: Request, kind: Kind, value: Value) -> Response:
        """Allow a host or a word again."""
        await admin(request)
        await blocks.remove(kind, value)
        return Response(status_code=204, headers=_NO_STORE)

    refused: dict[int | str, Any] = {
        400: refuses("bad-parameter", "block-invalid", "key-in-address", "several-keys"),
        401: refuses("key-refused"),
        403: refuses("loopback-only", "scope-missing"),
    }
    secured = {"security": SECURITY}
    readable(
        router,
        "/v1/blocks",
        list_blocks,
        responses={200: gives("All blocks", BlockList), **refused},
        openapi_extra=secured,
    )
    router.add_api_route(
        _ONE,
        add,
        methods=["PUT"],
        name="add_block",
        response_class=Response,
        responses={200: gives("Blocked", Block), **refused, 409: refuses("too-many-blocks")},
        openapi_extra=secured,
    )
    router.add_api_route(
        _ONE,
        remove,
        methods=["DELETE"],
        name="remove_block",
        response_class=Response,
        status_code=204,
        responses={204: {"description": "Allowed again"}, **refused, 404: refuses("unknown-block")},
        openapi_extra=secured,
    )
    return router


def _answer(document: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json", headers=_NO_STORE)

"""Links over HTTP: made, looked at, changed and deleted."""

from collections.abc import Mapping

import msgspec
from fastapi import APIRouter, Request, Response

from waypost.kernel.errors import Conflict
from waypost.sharing.links import editing
from waypost.sharing.links.document import path_of, show_link
from waypost.sharing.links.draft import MadeLink
from waypost.sharing.links.link import Changes, Link, LinkChanged, LinkDocument, NewLink
from waypost.web.http.authentication import JSON, Asker, WriteGuard, check_content_type
from waypost.web.http.parameters import Parameters
from waypost.web.http.routing import readable
from waypost.web.links.creation_checks import draft_of, edit_token_of, may_make, refuse_loop
from waypost.web.links.link_access import find_link
from waypost.web.links.openapi import (
    EDIT_TOKEN,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    SECURITY,
    Answers,
    Phrase,
    gives,
    refuses,
    takes,
)
from waypost.web.links.request_bodies import read_changes, read_new_link
from waypost.web.links.route_dependencies import LinkParts

MERGE_PATCH = "application/merge-patch+json"
_NO_PARAMETERS = Parameters()
_ETAG = "the link's version, for If-Match"

_ASKED_WRONGLY = ("bad-parameter", "key-in-address", "several-keys")
_REFUSED: Answers = {401: refuses("key-refused"), 403: refuses("loopback-only", "scope-missing")}
_BODY_REFUSED: Answers = {413: refuses("body-too-large"), 415: refuses("unsupported-content-type")}
_OF_A_LINK = ("target-refused", "link-invalid")


class VersionPassed(Conflict):
    """The link is no longer as If-Match says."""

    http_status = 412


def link_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])
    links = _Links(parts, guard)
    _describe_making(router, links)
    found: Answers = {404: refuses("unknown-link"), **_REFUSED}
    whole = gives("The link", LinkDocument, ETag=_ETAG)
    one = {"parameters": [EDIT_TOKEN], "security": SECURITY}
    readable(
        router,
        "/v1/links/{phrase}",
        links.show,
        name="show_link",
        responses={200: whole, 400: refuses(*_ASKED_WRONGLY), **found},
        openapi_extra=one,
    )
    changing = {"parameters": [EDIT_TOKEN, IF_MATCH], "security": SECURITY}
    changed: Answers = {409: refuses("link-changed"), 412: refuses("version-passed"), **found}
    router.add_api_route(
        "/v1/links/{phrase}",
        links.change,
        methods=["PATCH"],
        name="change_link",
        response_class=Response,
        responses={
            200: whole,
            400: refuses(*_ASKED_WRONGLY, *_OF_A_LINK),
            **changed,
            403: refuses("loopback-only", "scope-missing", "disabled-by-admin"),
            **_BODY_REFUSED,
        },
        openapi_extra=changing | takes(Changes, JSON, MERGE_PATCH),
    )
    router.add_api_route(
        "/v1/links/{phrase}",
        links.delete,
        methods=["DELETE"],
        name="delete_link",
        response_class=Response,
        status_code=204,
        responses={204: {"description": "Deleted"}, 400: refuses(*_ASKED_WRONGLY), **changed},
        openapi_extra=changing,
    )
    return router


def _describe_making(router: APIRouter, links: "_Links") -> None:
    where = "where the link can be looked at"
    router.add_api_route(
        "/v1/links",
        links.create,
        methods=["POST"],
        name="create_link",
        response_class=Response,
        status_code=201,
        responses={
            201: gives("Made", LinkDocument, Location=where, ETag=_ETAG),
            200: gives("There already", LinkDocument, Location=where, ETag=_ETAG),
            400: refuses(*_ASKED_WRONGLY, *_OF_A_LINK, "phrase-refused", "unknown-language", "unknown-theme"),
            409: refuses("phrase-taken", "idempotency-key-reused"),
            503: refuses("no-phrase-free", "space-full", "store-trouble", "lookup-failed"),
            **_REFUSED,
            **_BODY_REFUSED,
        },
        openapi_extra={"parameters": [IDEMPOTENCY_KEY], "security": SECURITY} | takes(NewLink),
    )


class _Links:
    """The endpoints; their docstrings are the API's description."""

    def __init__(self, parts: LinkParts, guard: WriteGuard) -> None:
        self._parts = parts
        self._guard = guard

    async def create(self, request: Request) -> Response:
        """Make a link. Without a key this is for this machine alone, unless anonymous links are allowed."""
        asker = await self._guard(request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        may_make(self._parts, asker)
        check_content_type(request, JSON)
        wanted = read_new_link(await request.body())
        draft = draft_of(self._parts, request, asker, wanted)
        made = await self._parts.author.make(draft, asker.caller.name)
        self._parts.cache.invalidate(made.link.phrase)
        return await answer_made(self._parts, request, asker, made)

    async def show(self, request: Request, phrase: Phrase) -> Response:
        """A link of yours, with the number of its visits."""
        asker = await self._guard(request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        link = await find_link(self._parts, asker, phrase, "links:read")
        return await _answer_link(self._parts, request, link)

    async def change(self, request: Request, phrase: Phrase) -> Response:
        """Change a link of yours: what is left out stays as it is, and null clears.

        Only an administrator can enable a link that an administrator disabled.
        """
        parts, asker = self._parts, await self._guard(request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        check_content_type(request, JSON, MERGE_PATCH)
        link = await find_link(parts, asker, phrase, "links:write")
        wanted = read_changes(await request.body())
        if isinstance(wanted.target, str) and wanted.target != link.target:
            refuse_loop(parts, request, wanted.target)
        tries = _check_version(request, link)
        try:
            changed = await editing.edit(
                parts.links,
                parts.author.rules,
                link,
                wanted,
                asker.caller.name,
                is_admin=asker.caller.is_admin,
                **tries,
            )
        except LinkChanged as error:
            raise _passed(request, error) from None
        finally:
            parts.cache.invalidate(link.phrase)
        return await _answer_link(parts, request, changed)

    async def delete(self, request: Request, phrase: Phrase) -> Response:
        """Delete a link of yours. Its phrase leads nowhere from then on, and is never given out again."""
        parts, asker = self._parts, await self._guard(request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        link = await find_link(parts, asker, phrase, "links:write")
        tries = _check_version(request, link)
        try:
            await editing.delete(parts.links, link, asker.caller.name, **tries)
        except LinkChanged as error:
            raise _passed(request, error) from None
        finally:
            parts.cache.invalidate(link.phrase)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})


async def answer_made(parts: LinkParts, request: Request, asker: Asker, made: MadeLink) -> Response:
    # A new link has no visits yet.
    counted = {} if made.how == "new" else await parts.visits.count([made.link.id])
    answer = _answer(parts, request, made.link, counted, edit_token_of(parts, asker, made))
    answer.status_code = 201 if made.how == "new" else 200
    answer.headers["Location"] = f"/v1/links/{path_of(made.link.phrase)}"
    return answer


async def _answer_link(parts: LinkParts, request: Request, link: Link) -> Response:
    return _answer(parts, request, link, await parts.visits.count([link.id]))


def _answer(
    parts: LinkParts, request: Request, link: Link, counted: Mapping[str, int], edit_token: str | None = None
) -> Response:
    document = show_link(link, parts.follow.base_url(request), counted.get(link.id, 0), edit_token)
    headers = {"Cache-Control": "no-store", "ETag": f'"{link.version}"'}
    return Response(msgspec.json.encode(document), media_type="application/json", headers=headers)


def _check_version(request: Request, link: Link) -> dict[str, int]:
    """Returns how often to try: a caller who names a version wants no other one changed."""
    wanted = request.headers.get("if-match")
    if wanted is None:
        return {}
    tags = {tag.strip() for tag in wanted.split(",")}
    if not tags & {"*", f'"{link.version}"'}:
        raise VersionPassed(f'the link is not as If-Match says: its ETag is "{link.version}"; look at it and try again')
    return {} if "*" in tags else {"tries": 1}


def _passed(request: Request, error: LinkChanged) -> Conflict:
    return VersionPassed(str(error)) if "if-match" in request.headers else error

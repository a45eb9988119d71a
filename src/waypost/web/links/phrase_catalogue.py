"""The catalogue of what phrases can be made of: languages, themes and formats, each with an example."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from waypost.sharing.phrases.formats import FORMATS, Format, join
from waypost.sharing.phrases.space import Space
from waypost.web.http.parameters import Parameter, Parameters
from waypost.web.http.routing import readable
from waypost.web.links.openapi import gives, refuses
from waypost.web.links.route_dependencies import LinkParts

# Examples are made as phrases are, but with a key that no space has: they do not show what was drawn, or will be.
_NO_KEY = bytes(32)
_CACHED = {"Cache-Control": "max-age=300"}

_LANGUAGE = Parameter(
    "language",
    "the themes of this language; when left out, of the one that phrases are drawn in by default",
    {"type": "string", "pattern": "^[a-z]{2,3}(-[a-z0-9]{2,8})*$", "maxLength": 40},
    str,
)


class LanguageDocument(msgspec.Struct, frozen=True):
    code: str
    name: str
    own_name: str
    themes: Sequence[str]
    example: str


class Languages(msgspec.Struct, frozen=True):
    languages: Sequence[LanguageDocument]


class Named(msgspec.Struct, frozen=True):
    name: str
    example: str


class Themes(msgspec.Struct, frozen=True):
    language: str
    themes: Sequence[Named]


class FormatDocument(msgspec.Struct, frozen=True):
    name: Format
    example: str


class Formats(msgspec.Struct, frozen=True):
    formats: Sequence[FormatDocument]


def catalogue_routes(parts: LinkParts) -> APIRouter:
    router = APIRouter(tags=["links"])
    none, by_language = Parameters(), Parameters(_LANGUAGE)

    @cache
    def example(language: str, theme: str | None = None) -> Sequence[str]:
        return Space(language, theme, parts.vocabularies.vocabulary(language, theme), _NO_KEY).words(0)

    async def languages(request: Request) -> Response:
        """The languages that phrases can be drawn in, with their themes."""
        none.read(request.scope["query_string"])
        vocabularies = parts.vocabularies
        found = [vocabularies.language(code) for code in vocabularies.languages]
        return _answer(
            Languages(
                [
                    LanguageDocument(
                        each.code, each.name, each.own_name, each.themes, join(example(each.code), "kebab")
                    )
                    for each in found
                ]
            )
        )

    async def themes(request: Request) -> Response:
        """What phrases of a language can be about."""
        language = by_language.read(request.scope["query_string"]).get("language", parts.author.settings.language)
        found = parts.vocabularies.themes(language)
        return _answer(Themes(language, [Named(theme, join(example(language, theme), "kebab")) for theme in found]))

    async def formats(request: Request) -> Response:
        """The ways a phrase's words are written as one."""
        none.read(request.scope["query_string"])
        words = example(parts.author.settings.language)
        return _answer(Formats([FormatDocument(each, join(words, each)) for each in FORMATS]))

    def add(path: str, endpoint: Any, kind: Any, taken: Parameters, *slugs: str) -> None:
        answers = {200: gives("Found", kind), 400: refuses("bad-parameter", *slugs)}
        readable(router, path, endpoint, responses=answers, openapi_extra={"parameters": taken.described()})

    add("/v1/languages", languages, Languages, none)
    add("/v1/themes", themes, Themes, by_language, "unknown-language")
    add("/v1/formats", formats, Formats, none)
    return router


def _answer(document: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json", headers=_CACHED)

"""What clients send about links, read strictly: unknown fields and wrong types are refused."""

import re
from typing import TypeVar, get_args

import msgspec

from waypost.sharing.links.link import Changes, NewLink
from waypost.sharing.phrases.formats import Format
from waypost.sharing.reports.report import ReportClosing
from waypost.web.http.parameters import BadParameter

_HOW = {
    "format": f"it is one of {', '.join(get_args(Format))}",
    "expires_at": "write it like 2027-01-01T00:00:00Z",
}
_PART = re.compile(r" - at `\$\.?(.*?)`$")
_FIELD = re.compile(r"field `(.+?)`")
Body = TypeVar("Body")


_new_link = msgspec.json.Decoder(NewLink)
_changes = msgspec.json.Decoder(Changes)
_closing = msgspec.json.Decoder(ReportClosing)


def read_new_link(body: bytes) -> NewLink:
    return _read(_new_link, body)


def read_changes(body: bytes) -> Changes:
    return _read(_changes, body)


def read_closing(body: bytes) -> ReportClosing:
    return _read(_closing, body)


def _read(decoder: "msgspec.json.Decoder[Body]", body: bytes) -> Body:
    """Raises BadParameter, which names what is wrong."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        found = _PART.search(str(error)) or _FIELD.search(str(error))
        where = re.split(r"[.\[]", found[1])[0] if found else ""
        said = _PART.sub("", str(error)).replace("`", "")
        how = f"; {_HOW[where]}" if where in _HOW else ""
        raise BadParameter(f"{where or 'body'}: {said}{how}", parameter=where or "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadParameter("body: it is not JSON, or is incomplete", parameter="body") from None

"""Moments and spans as they stand in an address."""

import re
from datetime import datetime
from typing import Any

from waypost.kernel.moments import read_moment
from waypost.web.http.parameters import BadParameter, Parameter

_TEXT = {"type": "string", "minLength": 1, "maxLength": 40}
# An unquoted plus in an address is a space.
_LOST_PLUS = re.compile(r"(?<=[0-9]) (?=[0-9]{2}:?[0-9]{2}$)")


def moment(text: str) -> datetime:
    return read_moment(_LOST_PLUS.sub("+", text) if "T" in text else text)


FROM = Parameter("from", "from this moment on, such as 2026-02-21 or 2026-02-21T12:00:00Z", _TEXT, moment)
TO = Parameter("to", "until just before this moment", _TEXT, moment)


def check_order(values: dict[str, Any]) -> None:
    if "from" in values and "to" in values and values["from"] > values["to"]:
        raise BadParameter("from: it is later than to; change the two around", parameter="from")

"""Passing a visitor's query on to the target."""

from urllib.parse import quote_from_bytes, unquote_plus, urlsplit

from waypost.kernel.errors import AskedWrongly

MOST_QUERY = 2048
# Not `;`, which some servers take for `&`, nor `#`, which would end the query.
_SAFE = "%/:?@!$&'()*+,=-._~[]"


class QueryTooLong(AskedWrongly):
    """The query to pass on to the target is too long."""

    http_status = 414


def with_query(target: str, query: bytes) -> str:
    """The target with the visitor's parameters after its own. They cannot override what the link's author wrote."""
    if len(query) > MOST_QUERY:
        raise QueryTooLong(f"a query that is passed on has at most {MOST_QUERY} bytes; make it shorter")
    parts = urlsplit(target)
    own = {_name(pair) for pair in parts.query.split("&")}
    pairs = [pair for pair in quote_from_bytes(query, safe=_SAFE).split("&") if pair and _name(pair) not in own]
    if not pairs:
        return target
    before, mark, fragment = target.partition("#")
    between = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{between}{'&'.join(pairs)}{mark}{fragment}"


def _name(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])

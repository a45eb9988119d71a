"""The frame of every page that is made here: one style sheet of our own, no script, nothing from elsewhere."""

from html import escape

from starlette.responses import Response

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
POLICY = {"Content-Security-Policy": _CSP, "Referrer-Policy": "same-origin"}


def framed(title: str, body: str) -> str:
    """`body` is HTML already; `title` is text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)} · Waypost</title><link rel="stylesheet" href="/-/message.css"></head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def framed_page(status: int, title: str, body: str) -> Response:
    headers = POLICY | {"Cache-Control": "no-store"}
    return Response(framed(title, body), status_code=status, media_type="text/html", headers=headers)

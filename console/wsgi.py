"""WSGI entry point: `gunicorn console.wsgi`."""

import sys
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.management.base import SystemCheckError
from django.utils.http import parse_header_parameters

from console.startup import WEB, start
from console.telemetry.starting import start_web

# More digits than any real length has, fewer than Python refuses to parse.
MAX_LENGTH_DIGITS = 18


class Request(WSGIRequest):
    """A request in UTF-8. A form with another charset, or a malformed content type or length, is not read.

    Django applies the charset a request names before any error handling begins. Python knows charsets that are not
    text (`base64`, `undefined`), so a single header could break the request.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        length = environ.get("CONTENT_LENGTH") or ""
        if not length.isdecimal() or len(length) > MAX_LENGTH_DIGITS:
            environ["CONTENT_LENGTH"] = ""
        if not _is_utf8(environ.get("CONTENT_TYPE", "")):
            environ["CONTENT_TYPE"] = ""
        super().__init__(environ)


def _is_utf8(content_type: str) -> bool:
    try:
        _, parameters = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return False
    return parameters.get("charset", "utf-8").lower() in ("utf-8", "utf8")


class Application(WSGIHandler):
    """Django's handler, with requests that are always UTF-8."""

    request_class = Request


# The exit status at which gunicorn gives up; after any other it would restart the worker forever.
NEVER_BOOTS = 3

try:
    start(WEB)
except SystemCheckError as refusals:
    print(refusals, file=sys.stderr)
    sys.exit(NEVER_BOOTS)
start_web()
application = Application()

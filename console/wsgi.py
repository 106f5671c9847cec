"""WSGI entry point: `gunicorn console.wsgi`."""

import os
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

from console.telemetry.starting import start_web

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")


# More digits than any real length has, fewer than Python refuses to parse.
MAX_LENGTH_DIGITS = 18


class Request(WSGIRequest):
    """A request in UTF-8. A form with another charset, a broken content type or a broken length is not read.

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


def assert_static_files() -> None:
    """Raise `ImproperlyConfigured` if `collectstatic` has not run: without it not even an error page renders."""
    if settings.STATIC_MANIFEST and not (Path(settings.STATIC_ROOT or "") / "staticfiles.json").is_file():
        raise ImproperlyConfigured("The static files are not collected: run `manage.py collectstatic --noinput` first.")


assert_static_files()
django.setup(set_prefix=False)
start_web()
application = Application()

"""WSGI entry point: `gunicorn console.wsgi`."""

import os
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")


# More digits than any length has, and fewer than Python refuses to read.
MAX_LENGTH_DIGITS = 18


class Request(WSGIRequest):
    """A request in UTF-8. Forms of another charset, of a content type that cannot be parsed, or of a length that is no
    number are not read.

    Django tries whatever charset a request names, before any of its error handling begins. Python knows charsets that
    are no text (`base64`, `undefined`), so that a single header would break the request.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        length = environ.get("CONTENT_LENGTH") or ""
        if not length.isdecimal() or len(length) > MAX_LENGTH_DIGITS:
            environ["CONTENT_LENGTH"] = ""
        super().__init__(environ)

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (ValueError, LookupError):
            self.content_type, self.content_params = "", {}
        if self.content_params.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
            self.content_type = ""


class Application(WSGIHandler):
    """Django's handler, for such requests."""

    request_class = Request


def assert_static_files() -> None:
    """Raise `ImproperlyConfigured` where `collectstatic` has not run: then no page can render, not even an error's."""
    if settings.STATIC_MANIFEST and not (Path(settings.STATIC_ROOT or "") / "staticfiles.json").is_file():
        raise ImproperlyConfigured("The static files are not collected: run `manage.py collectstatic --noinput` first.")


assert_static_files()
django.setup(set_prefix=False)
application = Application()

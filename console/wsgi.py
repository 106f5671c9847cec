"""WSGI entry point: `gunicorn console.wsgi`."""

import os
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")


def assert_static_files() -> None:
    """Raise `ImproperlyConfigured` where `collectstatic` has not run: then no page can render, not even an error's."""
    if settings.STATIC_MANIFEST and not (Path(settings.STATIC_ROOT or "") / "staticfiles.json").is_file():
        raise ImproperlyConfigured("The static files are not collected: run `manage.py collectstatic --noinput` first.")


assert_static_files()
application = get_wsgi_application()

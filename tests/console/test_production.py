"""Production refuses to start with what is meant for development."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.apps import assert_production


@pytest.fixture
def strict(settings):
    settings.CONSOLE_ENV, settings.DEBUG, settings.PLAIN_HTTP = "prod", False, False
    settings.ALLOWED_HOSTS = ["console.example.com"]
    return settings


def test_strict_settings_start(strict):
    assert_production()


@pytest.mark.parametrize(("name", "value"), [("DEBUG", True), ("PLAIN_HTTP", True), ("ALLOWED_HOSTS", ["*"])])
def test_settings_of_development_are_refused_in_production_only(strict, name, value):
    setattr(strict, name, value)
    with pytest.raises(ImproperlyConfigured, match=name):
        assert_production()
    strict.CONSOLE_ENV = "dev"
    assert_production()


def test_a_worker_does_not_start_before_static_files_are_collected(settings, tmp_path):
    from console.wsgi import assert_static_files

    settings.STATIC_ROOT = tmp_path
    assert_static_files()
    settings.STATIC_MANIFEST = True
    with pytest.raises(ImproperlyConfigured, match="collectstatic"):
        assert_static_files()
    (tmp_path / "staticfiles.json").write_text("{}")
    assert_static_files()

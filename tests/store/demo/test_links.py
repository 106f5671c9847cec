"""The links that sign in: each role's, on this machine, in the demo and nowhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.urls import Resolver404, get_resolver, resolve

from console.permissions import Role
from demo import links, staff

ROOT = Path(__file__).resolve().parent.parent.parent.parent
EVERYONE = [role.value for role in Role]


@pytest.fixture
def demo(store, settings):
    settings.ROOT_URLCONF = "demo.urls"
    staff.create_staff()


@pytest.mark.parametrize("role", EVERYONE)
def test_a_role_s_link_signs_its_person_in(demo, client, role):
    response = client.get(links.link(role))
    assert (response.status_code, response.url) == (302, "/")
    page = client.get("/account/")
    assert page.status_code == 200
    assert next(each["name"] for each in staff.PEOPLE if each["username"] == staff.SIGN_INS[role]) in page.text


def test_it_is_on_record_like_any_sign_in(demo, client, store):
    before = len([each for each in store.all("AUDIT") if each["action_type"] == "staff.sign_in"])
    client.get(links.link("agent"))
    after = [each for each in store.all("AUDIT") if each["action_type"] == "staff.sign_in"]
    assert len(after) == before + 1


def test_the_password_is_everyone_s_and_works_too(demo, client, store):
    assert {sign_in["password"] for sign_in in staff.sign_ins().values()} == {"demo-pass"}
    for sign_in in staff.sign_ins().values():
        assert client.post("/sign-in/", sign_in).status_code == 302
    assert store.get("STAFF", username="marco")["disabled"] is True


@pytest.mark.parametrize("path", ["/demo/sign-in/agent/0123456789abcdef/", "/demo/sign-in/nobody/0123456789abcdef/"])
def test_another_code_opens_nothing(demo, client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "session" not in response.cookies


def test_a_role_s_code_is_not_another_s(demo, client):
    admin, agent = links.link("admin"), links.link("agent")
    assert client.get(admin.replace(admin.split("/")[-2], agent.split("/")[-2])).status_code == 404


def test_the_code_is_another_with_another_key(demo, client, settings):
    path = links.link("admin")
    settings.SECRET_KEY = "another-key-of-another-run-5f0c2a"
    assert client.get(path).status_code == 404


def test_another_machine_is_not_signed_in(demo, client):
    response = client.get(links.link("admin"), REMOTE_ADDR="192.0.2.7")
    assert response.status_code == 404
    assert "session" not in response.cookies


def test_a_changed_password_ends_the_link(demo, client, monkeypatch):
    monkeypatch.setattr(links, "PASSWORD", "another-pass")
    response = client.get(links.link("admin"))
    assert (response.status_code, response.url) == (302, "/sign-in/")
    assert "session" not in response.cookies


def test_it_changes_nothing_by_post(demo, client):
    assert client.post(links.link("admin")).status_code == 405


def test_the_console_has_no_such_route():
    """Its own settings use `console.urls`, in which nothing of the demo is."""
    assert get_resolver().urlconf_name == "console.urls"
    with pytest.raises(Resolver404):
        resolve("/demo/sign-in/admin/0123456789abcdef/")
    told = settings_of("console.settings", CONSOLE_ENV="demo")
    assert told == {"urls": "console.urls", "has_demo": False, "refused": []}


@pytest.mark.slow
def test_the_demo_s_settings_start_in_no_other_environment():
    assert settings_of("demo.settings", CONSOLE_ENV="demo") == {"urls": "demo.urls", "has_demo": True, "refused": []}
    for environment in ("prod", "staging", "dev", "test"):
        told = settings_of("demo.settings", CONSOLE_ENV=environment)
        assert told == {"urls": "console.urls", "has_demo": False, "refused": ["CONSOLE_ENV"]}


def settings_of(module: str, **environment: str):
    """What these settings say in a process of their own."""
    ask = (
        "import json\nfrom django.conf import settings\n"
        "print(json.dumps({'urls': settings.ROOT_URLCONF, 'has_demo': 'demo' in settings.INSTALLED_APPS,"
        " 'refused': list(settings.UNREADABLE_SETTINGS)}))"
    )
    environment |= {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": module, "SECRET_KEY": "5f0c" * 16}
    ran = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)

"""Files in forms are kept nowhere, and long bodies are not read: no form of the console takes a file."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client


@pytest.fixture
def kept(monkeypatch) -> list[str]:
    """Files that were begun on disk."""
    begun: list[str] = []
    begin = TemporaryFileUploadHandler.new_file

    def new_file(self, *args, **kwargs) -> None:
        begin(self, *args, **kwargs)
        begun.append(self.file.temporary_file_path())

    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", new_file)
    return begun


def form(length: int) -> dict:
    return {"username": "amira.haddad", "password": "no", "file": SimpleUploadedFile("a.bin", b"x" * length)}


def test_file_is_left_out_and_the_form_is_read_all_the_same(store, client, kept):
    answer = client.post("/sign-in/", form(100_000))
    assert answer.status_code == 422
    assert "do not match an account" in answer.content.decode()
    assert answer.wsgi_request.FILES == {}
    assert kept == []


@pytest.mark.parametrize("checked", [True, False])
def test_long_body_is_refused_before_it_is_read(store, kept, checked):
    """Also where the CSRF token would be in it, which is looked for before anybody knows who asks."""
    client = Client(enforce_csrf_checks=checked)
    client.get("/sign-in/")
    with store.calls() as calls:
        answer = client.post("/sign-in/", form(3_000_000))
    assert answer.status_code == 400
    assert kept == []
    assert calls == []
